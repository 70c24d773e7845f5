/** Sources written by `agent-core tool new`. */

/** A field of the tool's input. */
export interface TemplateField {
  name: string
  type: keyof typeof fieldTypes
}

export interface TemplateOptions {
  /** Name of the tool. */
  name: string
  /** Description for the model. Default: the words of the name, and a request to complete them. */
  description?: string | undefined
  /** At least one field. Default: a field `query`. */
  fields?: readonly TemplateField[] | undefined
  effect?: 'read' | 'write' | undefined
}

/** Types of fields: the keywords of JSON Schema, as source text, and an example value. */
export const fieldTypes = {
  string: { schema: `type: 'string', minLength: 1`, example: 'example' },
  number: { schema: `type: 'number'`, example: 1.5 },
  integer: { schema: `type: 'integer'`, example: 1 },
  boolean: { schema: `type: 'boolean'`, example: true },
  date: { schema: String.raw`type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$'`, example: '2026-01-31' },
} as const

const defaultFields: readonly TemplateField[] = [{ name: 'query', type: 'string' }]

/** The source of a tool that can be loaded and called as it is. */
export function toolTemplate({ name, description, fields = defaultFields, effect = 'read' }: TemplateOptions): string {
  const text = description ?? `${toWords(name)}. Say here what the tool does, when to use it, and what it returns.`
  return `import { defineTool } from 'agent-core'

// Save this file while the service runs: the next chat uses the saved version.
export default defineTool({
  // The model decides by this text alone when to use the tool.
  description: ${quote(text)},
  // JSON Schema of the input. Input that does not match never reaches execute.
  schema: {
    type: 'object',
    properties: {
${fields.map(toProperty).join('\n')}
    },
    required: [${fields.map((field) => quote(field.name)).join(', ')}],
    additionalProperties: false,
  },
${effectLines[effect]}
  // The context has signal, headers, filters, log, artifact, callId and session.
  async execute(input, context) {
    context.log(${quote(`${name} was called.`)})
    // The work of the tool goes here. The model reads the returned JSON value, or the message of a thrown error.
    return { ${fields.map((field) => `${field.name}: input.${field.name}`).join(', ')} }
  },
})
`
}

const effectLines = {
  read: `  // 'read': may be called again after a crash, and in parallel with other calls. 'write': changes something, so a call is executed at most once.
  effect: 'read',`,
  write: `  // 'write': changes something, so a call is executed at most once. Other services can recognise a repeated request by context.callId.
  effect: 'write',`,
}

/** An input that matches the schema of the template. */
export function exampleInput({ fields = defaultFields }: Pick<TemplateOptions, 'fields'>): Record<string, string | number | boolean> {
  return Object.fromEntries(fields.map(({ name, type }) => [name, fieldTypes[type].example]))
}

function toProperty({ name, type }: TemplateField): string {
  const note = type === 'date' ? `${toWords(name)}, such as ${fieldTypes.date.example}.` : `${toWords(name)}.`
  return `      ${name}: { ${fieldTypes[type].schema}, description: ${quote(note)} },`
}

/** `fromCurrency` and `from_currency` become `From currency`. */
function toWords(name: string): string {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A string literal of TypeScript. */
function quote(text: string): string {
  return /['\\\p{Cc}]/u.test(text) ? JSON.stringify(text) : `'${text}'`
}
