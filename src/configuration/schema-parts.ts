import { Type, type TSchema } from 'typebox'

/** Shared parts of the schemas of agent.yaml and of the tool types. Fields marked `writeOnly` are secrets. */

export const strict = { additionalProperties: false }

/** The limit of entries in lists and mappings. Every change compares and checks all entries. */
export const maxEntries = 500
/** The limit of headers, of variables of a command, and of credentials. */
export const maxSecrets = 100

export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(schema)
}

export const Secret = Type.String({ minLength: 1, writeOnly: true, description: 'A value, or "${NAME}" for an environment variable.' })
export const Secrets = Type.Record(Type.String(), Type.String(), { writeOnly: true, maxProperties: maxSecrets })
export const Address = Type.String({ pattern: '^(https?://|\\$\\{)', description: 'An http(s) address; may hold "${NAME}".' })
export const Effect = Type.Enum(['read', 'write'])
