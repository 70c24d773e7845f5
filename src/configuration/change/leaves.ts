import type { Path } from '../problems.ts'
import { agentSchema, findToolSchema, isSecret, schemasUnder, type Schema } from '../schema-walk.ts'
import { isData, own } from './merge.ts'

/** A value in plain data with what the schema says of its place. Data need not fit the schema. */
export interface Place {
  readonly value: unknown
  readonly at: Path
  readonly schemas: readonly Schema[]
}

/** What nobody knows counts as secret. */
const unknown: readonly Schema[] = [{ writeOnly: true }]

export function rootPlace(value: unknown): Place {
  return { value, at: [], schemas: [agentSchema] }
}

export function isSecretPlace({ schemas }: Place): boolean {
  return isSecret(schemas)
}

/** The place under a key; under a secret everything is secret. */
export function placeUnder(place: Place, key: string | number): Place {
  return { value: own(place.value, key), at: [...place.at, key], schemas: schemasOf(place, key) }
}

function schemasOf({ value, at, schemas }: Place, key: string | number): readonly Schema[] {
  if (isSecret(schemas)) return unknown
  const isToolConfig = at.length === 2 && at[0] === 'tools' && key === 'config'
  if (!isToolConfig) return schemasUnder(schemas, key)
  const type = own(value, 'type') ?? own(value, 'name')
  const schema = typeof type === 'string' ? findToolSchema(type) : undefined
  return schema ? [schema] : unknown
}

/** Every value in it that is no list and no object. */
export function* leavesOf(place: Place): Generator<Place> {
  const { value } = place
  if (Array.isArray(value)) for (const index of value.keys()) yield* leavesOf(placeUnder(place, index))
  else if (isData(value)) for (const key of Object.keys(value)) yield* leavesOf(placeUnder(place, key))
  else yield place
}
