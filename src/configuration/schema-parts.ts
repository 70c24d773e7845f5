import { Type, type TSchema } from 'typebox'

/** Parts that the schemas of agent.yaml and of each tool type share. Fields marked `writeOnly` are secrets. */

export const strict = { additionalProperties: false }

/** Entries of lists and mappings that nobody writes longer by hand; each is compared and checked with every change. */
export const maxEntries = 500
/** Headers, variables of a command, credentials: more than any server takes. */
export const maxSecrets = 100

export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema)
}

export const Secret = Type.String({ minLength: 1, writeOnly: true, description: 'A value, or "${NAME}" for an environment variable.' })
export const Secrets = Type.Record(Type.String(), Type.String(), { writeOnly: true, maxProperties: maxSecrets })
export const Address = Type.String({ pattern: '^(https?://|\\$\\{)', description: 'An http(s) address; may hold "${NAME}".' })
export const Effect = Type.Enum(['read', 'write'])
