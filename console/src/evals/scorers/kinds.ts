import type { FormSchema } from '../../parts/schema-form/schema.ts'
import type { Scorer } from '../queries.ts'

interface Kind {
  label: string
  /** Fields beside those of all scorers. */
  fields: Record<string, FormSchema>
  required?: string[]
}

const flag = (title: string): FormSchema => ({ type: 'boolean', title })
const text = (title: string, description?: string): FormSchema => ({
  type: 'string',
  title,
  maxLength: 1000,
  ...(description && { description }),
})
const ignoreCase = { ignore_case: flag('Ignore upper and lower case') }
const list = (title: string, description: string): FormSchema => ({
  type: 'array',
  title,
  description,
  items: { type: 'string', title: 'Text' },
})

/** What scorers measure, with the fields of their forms. The service checks each field. */
export const kinds: Record<Scorer['kind'], Kind> = {
  effects: { label: 'Writes are those of the recording', fields: {} },
  trajectory: {
    label: 'Tools are called as expected',
    fields: {
      tools: list('Tools', 'Without any, the tools of the recording.'),
      ordered: flag('In this order'),
      inputs: { enum: ['ignore', 'exact'], title: 'Arguments' },
    },
  },
  exact: {
    label: 'Answer is a text or value',
    fields: {
      expected: { title: 'Expected', description: 'JSON. Without a value, the field `output` of what the example expects.' },
      ...ignoreCase,
    },
  },
  contains: {
    label: 'Answer contains texts',
    fields: { texts: list('Texts', 'Without any, the field `contains` of what the example expects.'), ...ignoreCase },
  },
  regex: {
    label: 'Answer matches a pattern',
    fields: { pattern: text('Pattern', 'Without look-around and back-references.'), ...ignoreCase },
    required: ['pattern'],
  },
  json_path: {
    label: 'Answer has a JSON value',
    fields: {
      path: text('Path', 'Such as $.items[0].price'),
      equals: { title: 'Equals', description: 'JSON. Without a value, any value counts.' },
    },
    required: ['path'],
  },
  schema: { label: 'Answer fits a JSON Schema', fields: { schema: { title: 'Schema', type: 'object' } }, required: ['schema'] },
  max_cost: { label: 'Cost at most', fields: { usd: { type: 'number', title: 'USD', minimum: 0 } }, required: ['usd'] },
  max_tokens: { label: 'Tokens at most', fields: { tokens: { type: 'integer', title: 'Tokens', minimum: 0 } }, required: ['tokens'] },
  max_steps: { label: 'Tool calls at most', fields: { steps: { type: 'integer', title: 'Calls', minimum: 0 } }, required: ['steps'] },
  judge: {
    label: 'A model gives points',
    fields: {
      model: { enum: ['small', 'primary'], title: 'Model' },
      rubric: { type: 'string', title: 'Rubric', maxLength: 20_000, description: 'What the model pays attention to.' },
    },
    required: ['model', 'rubric'],
  },
}

/** Schema of the form of a scorer. */
export function schemaOf(kind: Scorer['kind']): FormSchema {
  const { fields, required = [] } = kinds[kind]
  const properties = {
    name: { type: 'string', title: 'Name', maxLength: 64 },
    ...fields,
    threshold: { type: 'number', title: 'Threshold', minimum: 0, maximum: 1, description: 'From 0 to 1. A lower score fails.' },
    required: flag('A failed score fails the example'),
  }
  return { type: 'object', properties, required: ['name', ...required] }
}

/** A scorer of a kind, with the fields of all scorers of `before`. Fields whose absence means true are set, for the switches. */
export function toKind(kind: Scorer['kind'], before: Partial<Scorer> & { name: string }): Scorer {
  const { name, threshold, required = true } = before
  return {
    ...(kind === 'trajectory' && { ordered: true }),
    ...(before.kind === kind && before),
    name,
    kind,
    ...(threshold !== undefined && { threshold }),
    required,
  } as Scorer
}
