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

/** Optional fields, each with a description that states the default. `rules`: further keywords. */
export const optionalText = (description: string, rules: object = {}) => Type.Optional(Type.String({ ...rules, description }))
export const optionalFlag = (description: string) => Type.Optional(Type.Boolean({ description }))
export const optionalNumber = (description: string, rules: object) => Type.Optional(Type.Number({ ...rules, description }))
export const optionalInteger = (description: string, rules: object) => Type.Optional(Type.Integer({ ...rules, description }))

export function optionalChoice<const Choices extends string[]>(choices: readonly [...Choices], description: string) {
  return Type.Optional(Type.Enum(choices, { description }))
}

/** A whole number with a default. */
export function count(fallback: number, description: string, rules: object = { minimum: 1 }) {
  return Type.Integer({ ...rules, default: fallback, description })
}

export const Secret = Type.String({ minLength: 1, writeOnly: true, description: 'A value, or `${NAME}` for an environment variable.' })
export const Address = Type.String({ pattern: '^(https?://|\\$\\{)', description: 'An http(s) address, which may contain `${NAME}`.' })
export const Name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$',
  description: '1 to 64 letters of A-Z and a-z, digits, "_", ".", ":" and "-".',
})
export const Effect = Type.Enum(['read', 'write'])

/** A mapping whose values are secrets. */
export function secretsOf(description: string) {
  return Type.Record(Type.String(), Type.String(), { writeOnly: true, maxProperties: maxSecrets, description })
}

/** A mapping of header names to values. */
export const Headers = secretsOf('Headers of every request, by name. Values are secrets and may contain `${NAME}`.')
