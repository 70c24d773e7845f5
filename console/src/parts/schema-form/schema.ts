/** The parts of JSON Schema that a form can show. */
export interface FormSchema {
  type?: string | string[]
  title?: string
  description?: string
  properties?: Record<string, FormSchema>
  required?: string[]
  items?: FormSchema
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  maximum?: number
  format?: string
  maxLength?: number
  anyOf?: FormSchema[]
  oneOf?: FormSchema[]
  allOf?: FormSchema[]
  additionalProperties?: unknown
  $ref?: string
  $defs?: Record<string, FormSchema>
  definitions?: Record<string, FormSchema>
}

export type FieldKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'choice' | 'json'

const maxReferences = 20
/** Inputs of one object; a larger object is edited as JSON. */
const maxProperties = 200

/** Follows local references and the only alternative beside `null`, so that the schema names a type. */
export function resolveSchema(schema: FormSchema, root: FormSchema): FormSchema {
  let current = schema
  for (let count = 0; count < maxReferences; count++) {
    const target = current.$ref === undefined ? onlyAlternative(current) : findReference(current.$ref, root)
    if (!target) return current
    const { $ref: _ref, anyOf: _anyOf, oneOf: _oneOf, allOf: _allOf, ...rest } = current
    current = { ...target, ...rest }
  }
  return {}
}

function onlyAlternative({ anyOf, oneOf, allOf }: FormSchema): FormSchema | undefined {
  const alternatives = (anyOf ?? oneOf ?? allOf)?.filter(({ type }) => type !== 'null')
  return alternatives?.length === 1 ? alternatives[0] : undefined
}

function findReference(reference: string, root: FormSchema): FormSchema | undefined {
  const [, group, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []
  if (name === undefined) return undefined
  const definitions = group === '$defs' ? root.$defs : root.definitions
  return definitions && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

/** The kind of input for a resolved schema. `json` covers every schema without an own input. */
export function kindOf(schema: FormSchema): FieldKind {
  if (schema.enum?.length && schema.enum.every((value) => ['string', 'number', 'boolean'].includes(typeof value))) return 'choice'
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null')
  if (types.length !== 1) return 'json'
  switch (types[0]) {
    case 'object':
      return isBetween(Object.keys(schema.properties ?? {}).length, 1, maxProperties) ? 'object' : 'json'
    case 'array':
      return schema.items ? 'array' : 'json'
    case 'string':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'json'
  }
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}

/** Objects of an initial value: a schema may contain itself, and more than once. */
const maxObjects = 50

/** A value to begin with: the default, `false` and empty objects where they are required, else nothing. */
export function initialValue(schema: FormSchema, root: FormSchema, budget = { objects: maxObjects }): unknown {
  const resolved = resolveSchema(schema, root)
  if (resolved.default !== undefined) return resolved.default
  if (kindOf(resolved) !== 'object' || budget.objects === 0) return undefined
  budget.objects -= 1
  const required = new Set(resolved.required)
  const members = Object.entries(resolved.properties ?? {}).filter(([name]) => required.has(name))
  const values = members.map(([name, member]) => [name, initialValue(member, root, budget)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}
