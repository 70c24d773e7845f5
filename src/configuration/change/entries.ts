import { formatPath, type Path } from '../problems.ts'
import { findToolType } from '../tool-types.ts'
import { leavesOf, rootNode, childNode, type SchemaNode } from './leaves.ts'
import { ownValue } from './merge.ts'
import { nameOf } from './elements.ts'
import { isObject } from '../../json/shape.ts'

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
