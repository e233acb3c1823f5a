/** What a gateway process inherits from its test: no setting, only where it runs and how Node runs it. */
const NAMES = [
  'PATH',
  'HOME',
  'TMPDIR',
  'NODE_V8_COVERAGE',
  'NODE_COMPILE_CACHE',
  'NODE_DISABLE_COMPILE_CACHE',
];

export const inheritedEnvironment = (): Record<string, string> =>
  Object.fromEntries(NAMES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
