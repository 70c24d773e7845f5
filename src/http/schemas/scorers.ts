import { Type, type TProperties } from 'typebox'
import type { Scorer } from '../../evals/scorers/scorer.ts'
import { closed, named } from './shared.ts'

/** Schemas of scorers. */

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })
const line = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000]*$', ...(description !== undefined && { description }) })

const ignoreCase = Type.Optional(Type.Boolean({ description: 'Default: false.' }))

const traits = {
  name: line(64, 'Unique among the scorers.'),
  threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'A lower score fails. Default: 1.' })),
  required: Type.Optional(Type.Boolean({ description: 'True: a failed score fails the example. Default: true.' })),
}

/** Kinds with descriptions and fields. */
const kinds = [
  kind('exact', 'The answer is `expected`; default: the field `output` of what the example expects. A value is compared as JSON.', {
    expected: Type.Optional(Type.Unknown()),
    ignore_case: ignoreCase,
  }),
  kind('contains', 'The share of the texts in the answer; default: those in the field `contains` of what the example expects.', {
    texts: Type.Optional(Type.Array(text(10_000, 'A text that the answer has.'), { minItems: 1, maxItems: 100 })),
    ignore_case: ignoreCase,
  }),
  kind('regex', 'The answer has a match of the pattern.', {
    pattern: line(1000, 'Matched in linear time: without look-around and back-references.'),
    ignore_case: ignoreCase,
  }),
  kind('json_path', 'The answer is JSON that has a value at the path.', {
    path: line(1000, 'Such as `$.items[0].price`.'),
    equals: Type.Optional(Type.Unknown({ description: 'Default: any value.' })),
  }),
  kind('schema', 'The answer is JSON that fits the schema.', {
    schema: Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON Schema.' }),
  }),
  kind('trajectory', 'The called tools are the expected ones.', {
    tools: Type.Optional(Type.Array(line(256), { maxItems: 100, description: 'Default: those of the recording.' })),
    ordered: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    inputs: Type.Optional(
      Type.Enum(['exact', 'ignore'], { description: 'Whether the arguments count, in the order of the recording. Default: `ignore`.' }),
    ),
  }),
  kind('effects', 'The writes are those of the recording.', {}),
  kind('max_cost', 'The answer costs at most this.', { usd: Type.Number({ minimum: 0 }) }),
  kind('max_tokens', 'The answer takes at most so many tokens.', { tokens: Type.Integer({ minimum: 0 }) }),
  kind('max_steps', 'The answer takes at most so many tool calls.', { steps: Type.Integer({ minimum: 0 }) }),
  kind('judge', 'A model gives points from 0 to 10 by a rubric. Its cost is shown beside that of the answer.', {
    model: Type.Enum(['small', 'primary']),
    rubric: line(20_000, 'What the model pays attention to.'),
    pass_mark: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'As `threshold`.' })),
  }),
]

function kind<T extends TProperties>(name: Scorer['kind'], description: string, fields: T) {
  return { ...closed({ kind: Type.Literal(name), ...traits, ...fields }), description }
}

/** The discriminator limits the faults of a scorer to the schema of the kind. */
const Scorer = named(
  'Scorer',
  Type.Unsafe<Scorer>({
    type: 'object',
    description: 'A measure of an answer, of its calls or of its cost, from 0 to 1.',
    discriminator: { propertyName: 'kind' },
    oneOf: kinds,
  }),
)

export const scorerKinds = kinds.map(({ properties }) => properties.kind.const)

const traitNames: ReadonlySet<string> = new Set(['kind', ...Object.keys(traits)])

/** A list of the kinds with their fields, as Markdown. */
export const scorerKindsText = kinds
  .map(({ description, properties }) => {
    const fields = Object.keys(properties).filter((name) => !traitNames.has(name))
    const fieldsText = fields.length === 0 ? '' : ` Fields: ${fields.map((name) => `\`${name}\``).join(', ')}.`
    return `- \`${properties.kind.const}\`: ${description}${fieldsText}`
  })
  .join('\n')

export const Scorers = Type.Array(Scorer, { maxItems: 20 })
