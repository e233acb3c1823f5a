/**
 * infra → mcp → read-api → projections → commands: a folder imports itself and folders to its right.
 * `test/contract/house/imports.test.ts` plants a violation of every rule and holds the sources against them.
 */
const LAYERS = ['infra', 'mcp', 'read-api', 'projections', 'commands'];
const ENTRIES =
  '^infra/(process/(main|store)|demo/demo|markup/markup-worker|admin/(admin|backup|export|rebuild|restore))\\.ts$';

/** The files that parse CSS and clean HTML, or need those that do. */
const PARSERS =
  'commands/html/(computed-style|css|mail-style|read-html|style-rules|text-look|visible-html|written-markup)|' +
  'read-api/approvals/preview/mail-html';

/** A package by its name, or a module of Node's own. */
const packages = (...names) => names.map((name) => `(^|/)node_modules/(@types/)?${name}(/|$)`);
const coreModules = (...names) => names.map((name) => `^(node:)?${name}(/|$)`);

const oneWay = LAYERS.slice(1).map((layer, index) => ({
  name: `one-way-${layer}`,
  comment: `${layer} may not import what stands to its left, nor the tests and benches.`,
  severity: 'error',
  from: { path: `^${layer}/` },
  to: { path: `^(${[...LAYERS.slice(0, index + 1), 'test', 'bench'].join('|')})/` },
}));

/** The folders of commands that build on each other, highest first: a folder imports itself and those after it. */
const FLOORS = [
  'legal-holds', 'email', 'approvals', 'sending', 'drafts', 'messages', 'approver-notices', 'operations', 'policy', 'system-mail', 'kernel', 'ports', 'mail', 'html', 'values',
]; // prettier-ignore

const floors = FLOORS.slice(1).map((floor, index) => ({
  name: `commands-${floor}`,
  comment: `commands/${floor} may import only itself and the folders after it.`,
  severity: 'error',
  from: { path: `^commands/${floor}/` },
  to: { path: '^commands/', pathNot: `^commands/(${FLOORS.slice(index + 1).join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...oneWay,
    {
      name: 'no-tests-in-the-product',
      comment: 'What ships does not depend on how it is tested or measured.',
      severity: 'error',
      from: { path: '^infra/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'markup-in-its-thread',
      comment: 'What parses CSS and cleans HTML is loaded by the threads for markup, not by the process.',
      severity: 'error',
      from: {
        path: `^(${LAYERS.join('|')})/`,
        pathNot: `^(${PARSERS}|infra/markup/markup-worker)\\.ts$`,
      },
      to: {
        path: [`^(${PARSERS})\\.ts$`, ...packages('css-tree', 'culori', 'marked', 'sanitize-html')],
        dependencyTypesNot: ['type-only'],
      },
    },
    ...floors,
    {
      name: 'areas-apart',
      comment: 'An area of commands knows the floors below the operations and accounts, not its neighbours.',
      severity: 'error',
      from: { path: '^commands/([^/]+)/', pathNot: `^commands/(organisation|${FLOORS.join('|')})/` },
      to: {
        path: '^commands/',
        pathNot: [
          `^commands/($1|${FLOORS.slice(FLOORS.indexOf('policy')).join('|')})/`,
          '^commands/accounts/',
        ],
      },
    },
    {
      name: 'organisation-on-its-parts',
      comment:
        'An organisation builds on accounts, and ends the grants on its mailboxes and the connected applications with a membership.',
      severity: 'error',
      from: { path: '^commands/organisation/' },
      to: {
        path: '^commands/',
        pathNot: `^commands/(organisation|accounts|mailboxes|oauth|${FLOORS.slice(FLOORS.indexOf('policy')).join('|')})/`,
      },
    },
    {
      name: 'accounts-on-no-area',
      comment: 'An organisation builds on accounts, so accounts know no organisation.',
      severity: 'error',
      from: { path: '^commands/accounts/' },
      to: {
        path: '^commands/',
        pathNot: `^commands/(accounts|${FLOORS.slice(FLOORS.indexOf('policy')).join('|')})/`,
      },
    },
    {
      name: 'edge-libraries-in-infra-only',
      comment: 'Sockets, files, SQL, mail and the event store are reached through the ports.',
      severity: 'error',
      from: { path: `^(${LAYERS.slice(1).join('|')})/` },
      to: {
        path: [
          ...packages('pg', '@eventstore/db-client', 'imapflow', 'nodemailer', 'undici'),
          ...coreModules('net', 'tls', 'fs', 'dgram', 'child_process', 'worker_threads'),
        ],
      },
    },
    {
      name: 'express-at-the-faces-only',
      comment: 'Commands, projections and queries know no web framework.',
      severity: 'error',
      from: { path: '^(commands|projections|read-api)/', pathNot: '^read-api/http/' },
      to: { path: packages('express', 'express-serve-static-core') },
    },
    {
      name: 'json-rpc-in-mcp-only',
      comment: 'JSON-RPC is how MCP talks and nothing else does.',
      severity: 'error',
      from: { path: `^(${LAYERS.join('|')})/`, pathNot: '^mcp/' },
      to: { path: packages('json-rpc-2.0') },
    },
    {
      name: 'no-development-packages-in-the-product',
      comment: 'Only the demo, which is for development, uses development dependencies.',
      severity: 'error',
      from: { path: `^(${LAYERS.join('|')})/`, pathNot: '^infra/demo/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'type-only'], pathNot: '@types/' },
    },
    {
      name: 'no-cycles',
      comment: 'A circle has no beginning a reader could start at.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-barrels',
      comment: 'A file that only passes on hides where a name comes from.',
      severity: 'error',
      from: { pathNot: '(^|/)node_modules/' },
      to: { path: '(^|/)index\\.ts$', pathNot: '(^|/)node_modules/' },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import nobody can follow.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dead-declaration',
      comment: 'A capability, projection or adapter that no entry reaches does nothing.',
      severity: 'error',
      from: { path: ENTRIES },
      to: { path: `^(${LAYERS.join('|')})/.+\\.ts$`, pathNot: [ENTRIES, '\\.d\\.ts$'], reachable: false },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(node_modules/\\.cache|coverage|\\.data)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
};
