import { Ajv } from 'ajv'
import type { FastifyError, FastifyInstance, FastifySchemaValidationError } from 'fastify'
import { ServiceError, type Fault } from '../errors.ts'

/** More faults than a person reads help nobody, and a long list of them is a way to make us work. */
const maxFaults = 20

/** Finding every fault of a body costs memory for each: it is done for bodies of so few values, others are refused at the first. */
const maxValuesLookedThrough = 1000

/** Bodies are taken as they are; what comes as text (query, path, headers) is read as the type that its schema says. */
export function validateWith(app: FastifyInstance): void {
  const text = new Ajv({ ...options, allErrors: true, coerceTypes: true })
  const createBodyCheck = bodyChecks()
  app.setValidatorCompiler(({ schema, httpPart }) => {
    if (httpPart !== 'body') return text.compile(schema as object)
    const check = createBodyCheck(schema)
    return (body: unknown) => {
      const errors = check(body)
      return errors ? { error: errors } : true
    }
  })
}

/** Compiles schemas of bodies; a check answers with what is wrong, undefined where nothing is. */
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
  const left: unknown[] = [body]
  for (let count = 0; left.length > 0; count++) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (count + left.length + inner.length > maxValuesLookedThrough) return false
    left.push(...inner)
  }
  return true
}

const parts: Record<string, string> = { body: 'body', querystring: 'query', params: 'path', headers: 'header' }

/** Ajv's findings as a `validation` error, each with its place. */
export function toFaults(error: Pick<FastifyError, 'validation' | 'validationContext'>): ServiceError {
  const part = parts[error.validationContext ?? 'body'] ?? 'body'
  const faults = withoutNull(error.validation ?? [])
    .slice(0, maxFaults)
    .map((found): Fault => {
      const missing = found.keyword === 'required' ? [String(found.params['missingProperty'])] : []
      const unknown = found.keyword === 'additionalProperties' ? [String(found.params['additionalProperty'])] : []
      const path = found.instancePath.split('/').slice(1).map(toStep)
      const allowed = found.keyword === 'enum' ? `: ${(found.params['allowedValues'] as unknown[]).join(', ')}` : ''
      return {
        loc: [part, ...path, ...missing, ...unknown],
        msg: missing.length > 0 ? 'is required' : unknown.length > 0 ? 'is not known' : `${found.message ?? 'is not valid'}${allowed}`,
        type: found.keyword === 'required' ? 'missing' : found.keyword,
      }
    })
  const first = faults[0]
  return new ServiceError('validation', first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.', { faults })
}

/** Where something or null may stand, what is wrong with the something is what helps. */
function withoutNull(found: readonly FastifySchemaValidationError[]): readonly FastifySchemaValidationError[] {
  const telling = found.filter(({ keyword, params }) => keyword !== 'anyOf' && !(keyword === 'type' && params['type'] === 'null'))
  return telling.length > 0 ? telling : found
}

function toStep(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text.replaceAll('~1', '/').replaceAll('~0', '~')
}
