import { Type, type Static } from 'typebox'
import { Effect, Name, optional, strict } from './schema-parts.ts'

/** The schema of an entry of `tools`, without the fields of `config`, which `toolTypes` has for each type. */
export const ToolConfig = Type.Object(
  {
    name: Type.String({
      ...Name,
      description:
        'The name of the tool, unique in `tools`: 1 to 64 letters of A-Z and a-z, digits, "_", ".", ":" and "-". Tools of a group are named `<name>__<tool>`.',
    }),
    type: optional(Type.String({ description: 'The type of the tool. Default: the name.' })),
    description: optional(
      Type.String({ minLength: 1, description: "What the tool does, as the model reads it. Default: the tool's own description." }),
    ),
    timeout: optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 3600, description: 'Seconds after which a call is stopped and fails. Default: 30.' }),
    ),
    max_output_characters: optional(
      Type.Integer({ minimum: 100, description: 'The longest output of a call; what is longer is cut. Default: 20,000.' }),
    ),
    effect: optional(
      Type.Enum(['read', 'write'], {
        description:
          'Whether calls change something. After a crash a `read` may be repeated, a `write` never is. Default: as the tool declares.',
      }),
    ),
    approval: optional(
      Type.Enum(['required', 'none'], {
        description: 'Whether each call waits for an approval. Default: as `approvals.effects` decides.',
      }),
    ),
    by: optional(
      Type.Enum(['caller', 'role'], {
        description:
          'Who approves calls: the caller of the run, or another caller whose role permits `runs.approve`. Default: `approvals.by`.',
      }),
    ),
    config: optional(Type.Record(Type.String(), Type.Unknown(), { description: 'The fields of the type.' })),
  },
  { ...strict, description: 'A tool, or a group of tools.' },
)

/** Rules for calls that wait for an approval. */
export const Approvals = Type.Object(
  {
    effects: Type.Array(Effect, {
      default: [],
      maxItems: 10,
      description: 'Calls of tools with these effects wait for an approval: `[write]` for all calls that may change something.',
    }),
    by: Type.Enum(['caller', 'role'], {
      default: 'caller',
      description: '`caller`: the caller of the run decides. `role`: another caller, whose role permits `runs.approve`.',
    }),
    expire_after: Type.Number({
      exclusiveMinimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'Seconds after which a run that waits for a decision is cancelled.',
    }),
  },
  { ...strict, default: {}, description: 'Which calls wait for an approval, beside those of tools with `approval: required`.' },
)

export type ToolConfig = Static<typeof ToolConfig>
