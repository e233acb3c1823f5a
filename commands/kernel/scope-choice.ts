/** Scopes as callers choose them for a grant or a token: a list, or a preset. */
import { z } from 'zod';
import { GatewayError } from '../values/errors.ts';
import { PRESET_NAMES, PRESETS, type Preset, type Scope } from '../values/scopes.ts';

export const PresetField = z
  .enum(PRESET_NAMES)
  .optional()
  .describe('Instead of scopes: as much of this preset as you hold yourself; the answer lists it.');

export interface ScopeChoice<S extends Scope> {
  readonly scopes?: readonly S[] | undefined;
  readonly preset?: Preset | undefined;
}

/**
 * The scopes chosen, none beyond `held`. A list must be held completely; a preset gives what is held of it. Throws
 * `invalid_request` unless exactly one of both is there, `insufficient_scope` when nothing or not all is held.
 */
export function chosenScopes<S extends Scope>(choice: ScopeChoice<S>, held: readonly S[]): readonly S[] {
  const { scopes, preset } = choice;
  if ((scopes === undefined) === (preset === undefined)) throw oneOfBoth();
  if (scopes) {
    const missing = scopes.filter((scope) => !held.includes(scope));
    if (missing.length > 0) throw tooWide(missing);
    return [...new Set(scopes)];
  }
  const wanted: readonly Scope[] = preset === undefined ? [] : PRESETS[preset];
  const given = held.filter((scope) => wanted.includes(scope));
  if (given.length === 0) throw tooWide(wanted);
  return given;
}

const oneOfBoth = (): GatewayError => {
  const message = 'Name either scopes or a preset.';
  return new GatewayError('invalid_request', message, {
    details: { issues: [{ path: 'scopes', code: 'custom', message }] },
  });
};

const tooWide = (required: readonly Scope[]): GatewayError =>
  new GatewayError('insufficient_scope', 'You can only give scopes that you hold here yourself.', {
    details: { required },
  });
