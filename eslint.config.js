import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Assertions such as `expect(x).to.be.true` are property reads; chai makes them fail by themselves. */
const inTests = {
  files: ['test/**/*.ts'],
  rules: {
    '@typescript-eslint/no-unused-expressions': 'off',
    'max-lines-per-function': 'off',
    'max-lines': ['error', { max: 400 }],
  },
};

/** HTTP answers are read as they come: a member that is not there is undefined, and the assertion on it fails. */
const inEndToEndTests = {
  files: ['test/e2e/**/*.ts'],
  rules: {
    '@typescript-eslint/no-unsafe-argument': 'off',
    '@typescript-eslint/no-unsafe-assignment': 'off',
    '@typescript-eslint/no-unsafe-call': 'off',
    '@typescript-eslint/no-unsafe-member-access': 'off',
    '@typescript-eslint/no-unsafe-return': 'off',
  },
};

/** Where the answers of the REST face get their types. */
const inConsoleRoutes = {
  files: ['infra/console/{api,routes}.js'],
  rules: { '@typescript-eslint/no-unsafe-return': 'off' },
};

/** They describe packages of others, whatever those export. */
const inDeclarations = { files: ['**/*.d.ts'], rules: { 'no-restricted-syntax': 'off' } };

export default defineConfig(
  { ignores: ['node_modules/', 'coverage/', '.data/', 'test/fixtures/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' } },
  {
    files: ['**/*.ts', 'infra/console/*.js'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Export by name, so that a search finds every use.',
        },
      ],
      // Node would load a file of which only types are imported one by one.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // A handler that happens not to wait is still asynchronous by its interface.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: false, allowNever: false, allowNullish: false },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
    },
  },
  inTests,
  inEndToEndTests,
  inDeclarations,
  inConsoleRoutes,
);
