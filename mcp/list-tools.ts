/** tools/list: a caller's tools in fixed order: advertised ones first, then the enabled granular ones. */
import { JSONRPCErrorException } from 'json-rpc-2.0';
import type { Caller } from '../commands/kernel/access.ts';
import { mayCall } from '../commands/kernel/authorize.ts';
import type { Capability } from '../commands/kernel/capability.ts';
import { BoundedMap } from '../commands/values/bounded-map.ts';
import { INVALID_PARAMS } from './json-rpc-answers.ts';
import type { ProtocolRevision } from './protocol-revisions.ts';
import { type Tool, toolOf } from './tool.ts';

export interface ToolView {
  readonly caller: Caller;
  /** The session's setting. */
  readonly advancedTools: boolean;
  readonly revision: Pick<ProtocolRevision, 'describesOutput' | 'tasks'>;
}

/** Throws a JSON-RPC error for params of `tools/list` that ask for another page than the first. */
export function refuseCursor({ cursor }: Readonly<Record<string, unknown>>): void {
  if (cursor === undefined) return;
  throw new JSONRPCErrorException('Unknown cursor: tools/list has one page.', INVALID_PARAMS);
}

/** Distinct lists cached as text, one per set of scopes in use. */
const MAX_KEPT = 256;
const MAX_BYTES = 4 * 1_048_576;

/** All tools of a registry; each schema is converted once. */
export class ToolCatalogue {
  readonly #tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #kept = new BoundedMap<string, string>(MAX_KEPT, {
    mostBytes: MAX_BYTES,
    bytesOf: (json, key) => 2 * (json.length + key.length),
  });

  constructor(registry: readonly Capability[]) {
    const tools = registry.map(toolOf).filter((tool) => tool !== null);
    this.#tools = [
      ...tools.filter(({ advertised }) => advertised),
      ...tools.filter(({ advertised }) => !advertised),
    ];
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** Finds hidden tools too: they are callable by name. */
  named(name: string): Tool | undefined {
    return this.#byName.get(name);
  }

  /** The result of `tools/list` as JSON text. One page holds all tools, so there is never a next cursor. */
  list(view: ToolView): string {
    const listed = this.#listed(view);
    const kind = kindFor(view.revision);
    const key = `${kind} ${listed.map(({ name }) => name).join(' ')}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const definitions = listed.map(({ definition }) => definition[kind]);
    const json = `{"tools":[${definitions.join(',')}]}`;
    this.#kept.set(key, json);
    return json;
  }

  #listed({ caller, advancedTools }: ToolView): readonly Tool[] {
    return this.#tools.filter(
      (tool) => (tool.advertised || advancedTools) && mayCall(caller, tool.capability),
    );
  }
}

const kindFor = ({ describesOutput, tasks }: ToolView['revision']): keyof Tool['definition'] =>
  tasks ? 'asTask' : describesOutput ? 'described' : 'plain';
