import { isObject } from '../../json/is-object.ts'
import type { SecurityScheme } from './api.ts'
import type { References } from './references.ts'

export function toSchemes(document: Record<string, unknown>, references: References): Record<string, SecurityScheme> {
  const components = isObject(document['components']) ? document['components'] : {}
  const all = isObject(components['securitySchemes']) ? Object.entries(components['securitySchemes']) : []
  return Object.fromEntries(
    all.flatMap(([name, given]) => {
      const found = references.follow(given)
      if (name === '__proto__') return []
      return [[name, isObject(found) ? toScheme(found) : { type: 'other', called: references.whyNot(given) }]]
    }),
  )
}

function toScheme({ type, in: place, name, scheme, flows }: Record<string, unknown>): SecurityScheme {
  if (type === 'apiKey' && typeof name === 'string' && (place === 'header' || place === 'query' || place === 'cookie')) {
    return { type: 'apiKey', in: place, name }
  }
  if (type === 'http') {
    const called = String(scheme).toLowerCase()
    return called === 'basic' || called === 'bearer' ? { type: called } : { type: 'other', called: `http ${called}` }
  }
  if (type === 'openIdConnect') return { type: 'bearer' }
  if (type !== 'oauth2') return { type: 'other', called: String(type) }
  const flow = isObject(flows) ? flows['clientCredentials'] : undefined
  const tokenUrl = isObject(flow) ? flow['tokenUrl'] : undefined
  // A token that a person got somewhere else is sent as it is.
  return typeof tokenUrl === 'string' ? { type: 'clientCredentials', tokenUrl } : { type: 'bearer' }
}

/** Alternatives; an empty one means that nothing is needed. */
export function toRequirements(given: unknown): Record<string, string[]>[] | undefined {
  if (!Array.isArray(given)) return undefined
  return given
    .filter(isObject)
    .map((one) => Object.fromEntries(Object.entries(one).map(([name, scopes]) => [name, Array.isArray(scopes) ? scopes.map(String) : []])))
}
