import { isMap, isScalar, isSeq, type Node } from 'yaml'
import { parseText } from './faults.ts'
import { schemasBelow, schemasFor, type SchemaNode } from './schema-node.ts'

/** Texts that are not secret: the mask of the service, and references to variables. */
const harmless = /^(?:\*{8}|(?:(?:Bearer|Basic|Token) )?(?:\$\{[A-Za-z_]\w*\})+)?$/i
const userInAddress = /\/\/[^\s/@"']+@/g

/** The text without the secrets that were typed into it: each is replaced by an empty text, which the schema's check reports. */
export function withoutSecrets(text: string, root: SchemaNode): string {
  const { document } = parseText(text)
  const ranges: [from: number, to: number][] = []
  let data: unknown
  try {
    data = document.toJS()
  } catch {
    data = {}
  }
  collect(document.contents, data, schemasFor(root, data, root), false)
  // The tree of a faulty text is incomplete.
  const names = document.errors.length > 0 ? secretNames(root) : []
  const stripped = ranges.toSorted(([a], [b]) => b - a).reduce((rest, [from, to]) => `${rest.slice(0, from)}""${rest.slice(to)}`, text)
  return names
    .reduce(
      (rest, name) => rest.replace(new RegExp(`(${name}["']?[ \\t]*:[ \\t]*)(?!["']?(?:\\*{8}|\\$\\{))\\S[^\\n,}]*`, 'g'), '$1""'),
      stripped,
    )
    .replace(userInAddress, (user) => (/^\/\/(?:\*{8}|\$\{)/.test(user) ? user : '//'))

  function collect(node: unknown, value: unknown, schemas: SchemaNode[], isInside: boolean): void {
    const isSecret = isInside || schemas.some(({ writeOnly }) => writeOnly)
    if (isScalar(node) && isSecret && !harmless.test(String(node.value ?? '')))
      ranges.push([(node as Node).range![0], (node as Node).range![1]])
    if (isMap(node)) {
      for (const { key, value: child } of node.items) {
        const name = String(isScalar(key) ? key.value : key)
        const below = (value as Record<string, unknown> | undefined)?.[name]
        collect(child, below, schemasBelow(schemas, name, below, root), isSecret)
      }
    }
    if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        const below = (value as unknown[] | undefined)?.[index]
        collect(item, below, schemasBelow(schemas, index, below, root), isSecret)
      }
    }
  }
}

/** Names of all fields that the schema marks as secret, at any depth. */
function secretNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties } = schema as SchemaNode
  const own = Object.entries(properties ?? {}).flatMap(([name, field]) => (field.writeOnly && field.type === 'string' ? [name] : []))
  return [...new Set([...own, ...Object.values(schema).flatMap(secretNames)])]
}
