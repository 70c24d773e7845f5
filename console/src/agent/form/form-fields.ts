import type { FormSchema } from '../../parts/schema-form/schema.ts'
import { schemasAt, type Path, type SchemaNode } from '../schema/schema-node.ts'
import type { FieldChange } from './set-fields.ts'

/** A field of the form, and the place of its value in agent.yaml. */
export interface FormField {
  label: string
  path: Path
  /** In place of the description of the schema. */
  help?: string
  /** A text on one line. */
  isShort?: boolean
  /** In place of the schema of agent.yaml. */
  schema?: FormSchema
}

/** Fields that belong together. */
export interface FormSection {
  /** Name in the address, for links such as `/agent#prices`. */
  id?: string
  title: string
  text?: string
  fields: readonly FormField[]
}

const starters: FormSchema = {
  type: 'array',
  items: {
    type: 'object',
    title: 'question',
    required: ['title', 'message'],
    properties: { title: { type: 'string', title: 'Button', maxLength: 80 }, message: { type: 'string', title: 'Question' } },
  },
}

const price: FormSchema = { type: 'number', minimum: 0 }

const model = (name: string): Path => ['llms', 'primary', name]

const sections: readonly FormSection[] = [
  {
    title: 'What the agent is told',
    fields: [
      { label: 'Name', path: ['name'], isShort: true, help: 'People see it above the chat.' },
      { label: 'Instructions', path: ['instructions'], help: 'Who the agent is, what it does first, and what it never does.' },
      { label: 'Questions to begin with', path: ['conversation_starters'], schema: starters },
    ],
  },
  {
    title: 'Model',
    fields: [
      { label: 'Provider', path: model('provider'), help: '“embedded” is the demonstration model, which works by rules and needs no key.' },
      { label: 'Model', path: model('model'), isShort: true, help: 'The name of the model at the provider.' },
      {
        label: 'Key',
        path: model('api_key'),
        isShort: true,
        help: 'The key of the provider, or ${NAME} for a variable of the service. A key that is stored is shown as ********.',
      },
      { label: 'Address', path: model('base_url'), isShort: true, help: 'Only for a server of your own: where its model answers.' },
      {
        label: 'Effort',
        path: model('reasoning_effort'),
        help: 'How long a reasoning model thinks before it answers. Empty: the provider decides.',
      },
      { label: 'Temperature', path: model('temperature'), help: 'How much the answers vary: 0 varies least. Empty: the provider decides.' },
    ],
  },
  {
    id: 'prices',
    title: 'Prices',
    fields: [
      {
        label: 'Input',
        path: [...model('prices'), 'input'],
        schema: {
          ...price,
          description: 'USD for a million tokens that the model reads. With both prices, runs and metrics show what they cost.',
        },
      },
      {
        label: 'Output',
        path: [...model('prices'), 'output'],
        schema: { ...price, description: 'USD for a million tokens that the model writes.' },
      },
    ],
  },
]

const approvalText =
  'Required: each call of the tool waits until a person agrees. None: no call waits. Empty: as the approvals of the agent say.'

/** The sections of the form for a configuration: the last has a field for each of its tools. */
export function sectionsOf(data: unknown): FormSection[] {
  const tools = valueAt(data, ['tools'])
  const fields = (Array.isArray(tools) ? tools : []).map((tool, index) => ({
    label: String(valueAt(tool, ['name']) ?? `Tool ${index + 1}`),
    path: ['tools', index, 'approval'],
    help: '',
  }))
  return fields.length === 0 ? [...sections] : [...sections, { title: 'Approval of tools', text: approvalText, fields }]
}

/** The schema of a section's form: an object with the labels as names. */
export function schemaOf({ fields }: FormSection, data: unknown, root: SchemaNode): FormSchema {
  const properties = fields.map(({ label, path, help, isShort, schema: own }) => {
    if (own) return [label, own] as const
    const nodes = schemasAt(root, data, path)
    const { default: _default, ...schema } = (nodes.find(({ type, enum: choices }) => type ?? choices) ?? {}) as FormSchema
    return [label, { ...schema, description: help ?? schema.description ?? '', ...(isShort && { maxLength: 80 }) }] as const
  })
  return { type: 'object', properties: Object.fromEntries(properties) }
}

/** The values of a section by label. */
export function valuesOf({ fields }: FormSection, data: unknown): Record<string, unknown> {
  const values = fields.map(({ label, path }) => [label, valueAt(data, path)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** The fields of a section whose values have changed. */
export function changesOf({ fields }: FormSection, before: Record<string, unknown>, after: Record<string, unknown>): FieldChange[] {
  return fields.filter(({ label }) => before[label] !== after[label]).map(({ label, path }) => ({ path, value: after[label] }))
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    return (value as Record<string | number, unknown>)[part] ?? undefined
  }, data)
}
