import { Ajv, type Options } from 'ajv'

/** The schemas of routes are part of the program, so that the meta-schema need not check them. */
const ofRoutes: Options = {
  useDefaults: true,
  removeAdditional: false,
  allowUnionTypes: true,
  strict: false,
  validateSchema: false,
  discriminator: true,
}

/** Schemas of callers, servers and files may have keywords that Ajv does not know. */
const tolerant: Options = { strict: false, logger: false }

/** Options of Ajv, by what is validated. */
export const ajvOptions = {
  /** Query, path and headers of a request: texts, which are converted to the types of their schema. */
  requestTexts: { ...ofRoutes, allErrors: true, coerceTypes: true },
  /** The body of a request, up to its first fault. */
  requestBody: ofRoutes,
  /** The body of a request, for all of its faults. */
  requestBodyFaults: { ...ofRoutes, allErrors: true },
  /** agent.yaml. The build compiles its schemas with the same options. */
  configuration: {
    allErrors: true,
    useDefaults: true,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    verbose: true,
    validateSchema: false,
  },
  /** Whether something is a JSON Schema; and the lists that a model writes. */
  tolerant,
  /** The input of a tool, whose schema has been checked. A parameter may be named `constructor`: inherited properties do not count as sent. */
  toolInput: { ...tolerant, ownProperties: true, validateSchema: false },
  /**
   * Schemas that are compiled within limits. Patterns are written for engines with and without the `u` flag; a pattern that is valid in
   * neither is a fault. Ajv's optimizer takes seconds for a schema that compiles in milliseconds without it.
   */
  guarded: { ...tolerant, ownProperties: true, code: { optimize: false, regExp: Object.assign(toRegExp, { code: 'toRegExp' }) } },
} as const satisfies Record<string, Options>

export function createAjv(purpose: keyof typeof ajvOptions): Ajv {
  return new Ajv(ajvOptions[purpose])
}

/** Throws `SyntaxError` for a pattern that is valid neither with nor without the `u` flag. */
export function toRegExp(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}
