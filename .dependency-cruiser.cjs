/**
 * infra → mcp → read-api → projections → commands: a folder imports itself and folders to its right.
 * `test/contract/house/imports.test.ts` plants a violation of every rule and holds the sources against them.
 */
const LAYERS = ['infra', 'mcp', 'read-api', 'projections', 'commands'];
const ENTRIES =
  '^infra/(main|store|demo/demo|markup/markup-worker|admin/(admin|backup|rebuild|restore))\\.ts$';

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
      name: 'areas-apart',
      comment:
        'An area of commands knows the kernel, the policy and the operations, not its neighbours; email.act and the approvals put them together.',
      severity: 'error',
      from: { path: '^commands/([^/]+)/', pathNot: '^commands/(kernel|policy|operations|email|approvals)/' },
      to: { path: '^commands/', pathNot: '^commands/($1|kernel|policy|operations)/' },
    },
    {
      name: 'operations-on-the-policy-and-kernel-only',
      comment: 'Every area builds on the operations, so they may know none of them.',
      severity: 'error',
      from: { path: '^commands/operations/' },
      to: { path: '^commands/', pathNot: '^commands/(operations|policy|kernel)/' },
    },
    {
      name: 'policy-on-the-kernel-only',
      comment: 'The operations ask the policy.',
      severity: 'error',
      from: { path: '^commands/policy/' },
      to: { path: '^commands/', pathNot: '^commands/(policy|kernel)/' },
    },
    {
      name: 'kernel-on-itself-only',
      comment: 'Everything builds on the kernel.',
      severity: 'error',
      from: { path: '^commands/kernel/' },
      to: { path: '^commands/', pathNot: '^commands/kernel/' },
    },
    {
      name: 'edge-libraries-in-infra-only',
      comment: 'Sockets, files, SQL, mail and the event store are reached through the ports.',
      severity: 'error',
      from: { path: `^(${LAYERS.slice(1).join('|')})/` },
      to: {
        path: [
          ...packages('pg', '@eventstore/db-client', 'imapflow', 'nodemailer'),
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
