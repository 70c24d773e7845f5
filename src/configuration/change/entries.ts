import { formatPath, type Path } from '../problems.ts'
import { findToolType } from '../tool-types.ts'
import { leavesOf, rootNode, childNode, type SchemaNode } from './leaves.ts'
import { isConfigData, ownValue } from './merge.ts'
import { nameOf } from './elements.ts'

/** A part of the configuration that has secrets of its own and says where they go: a model, a tool. */
export interface ConfigEntry extends SchemaNode {
  /** The same before and after a change: `llms.primary`, `tools[orders]`. Undefined for what has no name: an element of `llms.fallback`. */
  readonly id: string | undefined
}

/**
 * Fields that say to whom the secrets of their entry go, wherever in it they stand: `base_url`, `token_url`, `spec`, and headers by which
 * a gateway is told where to send a request.
 */
const addressField =
  /^(?:provider|spec|command)$|(?:^|[_-])(?:ur[li]|hosts?|endpoint|origin|target|upstream|authority)$|[_-](?:base|proxy|route|config)$/i

export function entriesOf(data: unknown): ConfigEntry[] {
  const root = rootNode(data)
  const under = (node: SchemaNode): SchemaNode[] =>
    isConfigData(node.value)
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

/** Each field that says where an entry's secrets go, with its value. */
export function addressOf(entry: SchemaNode): Record<string, unknown> {
  const { value, at } = entry
  // Each of its secrets stands under the host that it is for, and which hosts it may reach besides says nothing of them.
  if (isByHost(entry)) return { type: typeOf(value) }
  const depth = at.length
  const fields = [...leavesOf(entry)].flatMap((leaf) => {
    const path = leaf.at.slice(depth)
    return path.some((key) => typeof key === 'string' && addressField.test(key)) ? [[formatPath(path), leaf.value] as const] : []
  })
  if (at[0] !== 'tools') return Object.fromEntries(fields)
  return { ...Object.fromEntries(fields), type: typeOf(value) }
}

/** The host to which what stands at a path goes, where the entry has one for each of its secrets. */
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
