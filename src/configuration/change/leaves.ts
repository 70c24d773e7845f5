import type { Path } from '../problems.ts'
import { agentSchema, findToolSchema, isSecret, schemasUnder, type Schema } from '../schema-walk.ts'
import { ownValue } from './merge.ts'
import { isObject } from '../../json/shape.ts'

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
