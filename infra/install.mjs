/**
 * Runs before every script, on any Node (20 or newer): brings node_modules to what package-lock.json requires, including
 * Node 24. Plain JavaScript without packages, because none may be installed yet. Silent when there is nothing to do.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  linkSync,
  lstatSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const lock = join(root, '.install.lock');
const nodeBinary = join(modules, '.bin/node');

const say = (line) => process.stderr.write(`${line}\n`);

/** npm must not run on the Node that it is about to replace. */
const outsidePath = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.startsWith(modules))
  .join(delimiter);

const run = (command, args, cwd = root) =>
  spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, PATH: outsidePath } });

const readJson = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
};

const isExecutable = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * npm records what it installed in `node_modules/.package-lock.json`, last of all; packages for other systems are not in
 * it.
 */
function packagesAreThere() {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages;
  const installed = readJson(join(modules, '.package-lock.json'))?.packages;
  if (!wanted || !installed) return false;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === '' || (installed[path] ? installed[path].version === version : optional === true),
  );
}

const isInstalled = () => packagesAreThere() && isExecutable(nodeBinary);

const linkExists = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function installPackages() {
  say('Installing the packages of package-lock.json, about a minute …');
  const startedAt = Date.now();
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { error, status } = run('npm', ['ci', ...quiet]);
  if (error) fail(`npm could not be started (${error.message}): put npm on the PATH and run this again.`);
  if (status !== 0) {
    say('npm ci failed, trying npm install …');
    run('npm', ['install', '--no-save', ...quiet]);
  }
  if (!packagesAreThere()) {
    fail('The packages could not be installed: see what npm said above, then run `npm ci` by hand.');
  }
  say(`Installed in ${String(Math.round((Date.now() - startedAt) / 1000))} s.`);
}

/** The `node` package fetches its binary in an install script, which npm settings such as ignore-scripts forbid. */
function repairNode() {
  if (isExecutable(nodeBinary)) return;
  say('Fetching Node 24 …');
  run('node', ['installArchSpecificPackage.js'], join(modules, 'node'));
  // npm links only what existed when it started.
  if (!linkExists(nodeBinary)) symlinkSync('../node/bin/node', nodeBinary);
  if (!isExecutable(nodeBinary)) {
    fail('Node 24 could not be installed into node_modules: run `npm rebuild node --ignore-scripts=false`.');
  }
}

function fail(sentence) {
  say(sentence);
  process.exit(1);
}

/** True when this process may install; false when another one is installing. Linking makes the file appear with its text. */
function takeLock() {
  const own = `${lock}.${String(process.pid)}`;
  try {
    writeFileSync(own, String(process.pid));
    linkSync(own, lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') fail(`The project folder cannot be written to (${error.code}).`);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

function lockIsAbandoned() {
  const pid = readJson(lock);
  if (pid === null) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

async function waitForTheLock() {
  const until = Date.now() + 600_000;
  while (!takeLock()) {
    if (lockIsAbandoned()) rmSync(lock, { force: true });
    if (Date.now() > until) {
      fail('Another installation has not ended in ten minutes: end it, then run this again.');
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  process.on('exit', () => rmSync(lock, { force: true }));
}

if (!isInstalled()) {
  await waitForTheLock();
  // Another process may have installed it meanwhile.
  if (!packagesAreThere()) installPackages();
  repairNode();
}
