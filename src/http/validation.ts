import { Ajv } from 'ajv'
import type { FastifyError, FastifyInstance, FastifySchemaValidationError } from 'fastify'
import { ServiceError, type Fault } from '../errors.ts'

/** Faults listed in a 422. A longer list helps no reader and costs memory. */
const maxFaults = 20

/** Values in a body that is checked for all of its faults. Each fault costs memory, so a larger body is refused at its first fault. */
const maxValuesForAllFaults = 1000

/** Validates requests with Ajv. Bodies keep their JSON types; query, path and headers are text and are coerced to the type in the schema. */
export function validateWith(app: FastifyInstance): void {
  const coercing = new Ajv({ ...options, allErrors: true, coerceTypes: true })
  const createBodyCheck = bodyChecks()
  app.setValidatorCompiler(({ schema, httpPart }) => {
    if (httpPart !== 'body') return coercing.compile(schema as object)
    const check = createBodyCheck(schema)
    return (body: unknown) => {
      const errors = check(body)
      return errors ? { error: errors } : true
    }
  })
}

/** Compiles schemas of bodies. A check returns the errors of a body, undefined for a valid one. */
export function bodyChecks(): (schema: object) => (body: unknown) => FastifySchemaValidationError[] | undefined {
  const quick = new Ajv(options)
  const whole = new Ajv({ ...options, allErrors: true })
  return (schema) => {
    const isRight = quick.compile(schema)
    const findAll = whole.compile(schema)
    return (body) => {
      if (isRight(body)) return undefined
      const { errors } = isRight
      return (isSmall(body) && !findAll(body) ? findAll.errors : errors) as FastifySchemaValidationError[]
    }
  }
}

const options = { useDefaults: true, removeAdditional: false, allowUnionTypes: true, strict: false } as const

function isSmall(body: unknown): boolean {
  const pending: unknown[] = [body]
  for (let count = 0; pending.length > 0; count++) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (count + pending.length + inner.length > maxValuesForAllFaults) return false
    pending.push(...inner)
  }
  return true
}

/** First element of a fault's `loc`, by the `validationContext` of Fastify. */
const parts: Record<string, string> = { body: 'body', querystring: 'query', params: 'path', headers: 'header' }

/** Ajv's errors as one `validation` error with a fault for each. */
export function toFaults(error: Pick<FastifyError, 'validation' | 'validationContext'>): ServiceError {
  const part = parts[error.validationContext ?? 'body'] ?? 'body'
  const faults = withoutNull(error.validation ?? [])
    .slice(0, maxFaults)
    .map((ajvError): Fault => {
      const { keyword, params, instancePath, message } = ajvError
      const missing = keyword === 'required' ? [String(params['missingProperty'])] : []
      const unknown = keyword === 'additionalProperties' ? [String(params['additionalProperty'])] : []
      const path = instancePath.split('/').slice(1).map(toPathSegment)
      const allowed = keyword === 'enum' ? `: ${(params['allowedValues'] as unknown[]).join(', ')}` : ''
      return {
        loc: [part, ...path, ...missing, ...unknown],
        msg: missing.length > 0 ? 'is required' : unknown.length > 0 ? 'is not known' : `${message ?? 'is not valid'}${allowed}`,
        type: keyword === 'required' ? 'missing' : keyword,
      }
    })
  const first = faults[0]
  return new ServiceError('validation', first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.', { faults })
}

/** Drops the errors of the null branch of a nullable field: only the errors of the other branch help the caller. */
function withoutNull(errors: readonly FastifySchemaValidationError[]): readonly FastifySchemaValidationError[] {
  const specific = errors.filter(({ keyword, params }) => keyword !== 'anyOf' && !(keyword === 'type' && params['type'] === 'null'))
  return specific.length > 0 ? specific : errors
}

/** A segment of a JSON pointer (RFC 6901): an index is a number. */
function toPathSegment(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text.replaceAll('~1', '/').replaceAll('~0', '~')
}
