import { formatPath, type Path } from '../problems.ts'
import { findToolType } from '../tool-types.ts'
import { ownValue, nameOf } from './merge.ts'
import { isObject } from '../../json/shape.ts'
import { agentSchema, findToolSchema, isSecret, schemasUnder, type Schema } from '../schema-walk.ts'

/** A model or a tool of the configuration: a part with secrets and with the addresses to which the secrets go. */
export interface ConfigEntry extends SchemaNode {
  /** A stable identifier across changes: `llms.primary`, `tools[orders]`. Undefined without a name, as in `llms.fallback`. */
  readonly id: string | undefined
}

/**
 * Fields at any depth of an entry that determine to whom secrets go: `base_url`, `token_url`, `spec`, and headers by which a gateway routes
 * a request.
 */
const addressField =
  /^(?:provider|spec|command|connector_id)$|(?:^|[_-])(?:ur[li]|hosts?|endpoint|origin|target|upstream|authority)$|[_-](?:base|proxy|route|config)$/i

export function entriesOf(data: unknown): ConfigEntry[] {
  const root = rootNode(data)
  const under = (node: SchemaNode): SchemaNode[] =>
    isObject(node.value)
      ? Object.keys(node.value).map((key) => childNode(node, key))
      : Array.isArray(node.value)
        ? [...node.value.keys()].map((index) => childNode(node, index))
        : []
  const models = under(childNode(root, 'llms')).flatMap((node): ConfigEntry[] =>
    Array.isArray(node.value) ? under(node).map((element) => ({ ...element, id: undefined })) : [{ ...node, id: node.at.join('.') }],
  )
  const tools = under(childNode(root, 'tools')).map((node): ConfigEntry => {
    const name = nameOf(node.value)
    return { ...node, id: name === undefined ? undefined : `tools[${name}]` }
  })
  return [...models, ...tools]
}

/** The fields, with values, that determine where the secrets of an entry go. */
export function addressOf(entry: SchemaNode): Record<string, unknown> {
  const { value, at } = entry
  // The secrets are listed by host; the other allowed hosts do not get the secrets.
  if (isByHost(entry)) return { type: typeOf(value) }
  const depth = at.length
  const fields = [...leavesOf(entry)].flatMap((leaf) => {
    const path = leaf.at.slice(depth)
    return path.some((key) => typeof key === 'string' && addressField.test(key)) ? [[formatPath(path), leaf.value] as const] : []
  })
  if (at[0] !== 'tools') return Object.fromEntries(fields)
  return { ...Object.fromEntries(fields), type: typeOf(value) }
}

/** The host that gets the value at a path, for entries with secrets by host. */
export function hostOf(entry: SchemaNode, at: Path): Path[number] | undefined {
  const [field, part, host] = at.slice(entry.at.length)
  return isByHost(entry) && field === 'config' && part === 'headers' ? host : undefined
}

function isByHost({ value, at }: SchemaNode): boolean {
  return at[0] === 'tools' && findToolType(typeOf(value))?.hasSecretsByHost === true
}

function typeOf(tool: unknown): unknown {
  return ownValue(tool, 'type') ?? ownValue(tool, 'name')
}

/** A value in plain data with the schemas that apply to the value. The data need not fit the schemas. */
export interface SchemaNode {
  readonly value: unknown
  readonly at: Path
  readonly schemas: readonly Schema[]
}

/** Values without a schema count as secret. */
const unknownSchemas: readonly Schema[] = [{ writeOnly: true }]

export function rootNode(value: unknown): SchemaNode {
  return { value, at: [], schemas: [agentSchema] }
}

export function isSecretNode({ schemas }: SchemaNode): boolean {
  return isSecret(schemas)
}

/** The node under a key. Everything under a secret is secret. */
export function childNode(node: SchemaNode, key: string | number): SchemaNode {
  return { value: ownValue(node.value, key), at: [...node.at, key], schemas: schemasOf(node, key) }
}

function schemasOf({ value, at, schemas }: SchemaNode, key: string | number): readonly Schema[] {
  if (isSecret(schemas)) return unknownSchemas
  const isToolConfig = at.length === 2 && at[0] === 'tools' && key === 'config'
  if (!isToolConfig) return schemasUnder(schemas, key)
  const type = ownValue(value, 'type') ?? ownValue(value, 'name')
  const schema = typeof type === 'string' ? findToolSchema(type) : undefined
  return schema ? [schema] : unknownSchemas
}

/** Yields every value that is neither a list nor an object. */
export function* leavesOf(node: SchemaNode): Generator<SchemaNode> {
  const { value } = node
  if (Array.isArray(value)) for (const index of value.keys()) yield* leavesOf(childNode(node, index))
  else if (isObject(value)) for (const key of Object.keys(value)) yield* leavesOf(childNode(node, key))
  else yield node
}
