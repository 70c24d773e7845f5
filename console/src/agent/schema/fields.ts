import { schemasAt, schemasFor, type Path, type SchemaNode } from './schema-node.ts'

/** A name or a value that fits at a place of the text. */
export interface Suggestion {
  label: string
  /** Kind of the value: "list", "one of 8". */
  detail: string
  description: string
}

export interface FieldSuggestion extends Suggestion {
  type: string | undefined
  isRequired: boolean
}

/** The fields that the mapping at a path may have. Conditional parts of the schema are chosen by `data`. */
export function fieldsAt(root: SchemaNode, data: unknown, path: Path): FieldSuggestion[] {
  const schemas = schemasAt(root, data, path)
  const required = new Set(schemas.flatMap((schema) => schema.required ?? []))
  const names = new Set(schemas.flatMap((schema) => Object.keys(schema.properties ?? {})))
  return [...names].map((label) => {
    const isRequired = required.has(label)
    return { ...describe(schemasAt(root, data, [...path, label])), label, isRequired }
  })
}

/** The permitted values at a path, if the schema lists values. */
export function valuesAt(root: SchemaNode, data: unknown, path: Path): Suggestion[] {
  const schemas = schemasAt(root, data, path)
  const listed = schemas.flatMap((schema) => schema.enum ?? (schema.type === 'boolean' ? [true, false] : []))
  const detail = schemas.some((schema) => schema.default !== undefined) ? `default ${shown(describe(schemas).default)}` : ''
  return [...listed.map((value) => ({ label: shown(value), detail, description: '' })), ...conditionsAt(root, data, path)]
}

/** The constants of conditions on the value, such as the types of tools, with the descriptions of the chosen schemas. */
function conditionsAt(root: SchemaNode, data: unknown, path: Path): Suggestion[] {
  const name = path.at(-1)
  if (typeof name !== 'string') return []
  const parts = schemasAt(root, data, path.slice(0, -1)).flatMap((schema) => schema.allOf ?? [])
  return parts.flatMap((part) => {
    const value = part.if?.properties?.[name]?.const
    if (value === undefined) return []
    const chosen = Object.values(part.then?.properties ?? {}).flatMap((schema) => schemasFor(schema, undefined, root))
    return [{ label: shown(value), detail: '', description: chosen[0]?.description ?? '' }]
  })
}

/** Kind, description and default of a value that several schemas describe. */
export function describe(schemas: readonly SchemaNode[]): FieldSuggestion & { default: unknown } {
  const type = schemas.find((schema) => schema.type)?.type
  const choices = schemas.find((schema) => schema.enum)?.enum
  const description = schemas.findLast((schema) => schema.description)?.description ?? ''
  const fallback = schemas.find((schema) => schema.default !== undefined)?.default
  const detail = choices ? choices.map(shown).join(' | ') : type === undefined ? '' : kinds[type]!
  return { label: '', type, detail, description, isRequired: false, default: fallback }
}

const kinds: Record<string, string> = {
  object: 'mapping',
  array: 'list',
  integer: 'whole number',
  number: 'number',
  string: 'text',
  boolean: 'true or false',
}

/** A value on one line, as YAML's flow style writes it. */
export function shown(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}
