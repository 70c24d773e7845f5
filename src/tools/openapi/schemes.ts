import { isObject } from '../../json/shape.ts'
import type { SecurityScheme } from './api.ts'
import type { References } from './references.ts'

export function toSchemes(document: Record<string, unknown>, references: References): Record<string, SecurityScheme> {
  const components = isObject(document['components']) ? document['components'] : {}
  const all = isObject(components['securitySchemes']) ? Object.entries(components['securitySchemes']) : []
  return Object.fromEntries(
    all.flatMap(([name, reference]) => {
      const schemeObject = references.follow(reference)
      if (name === '__proto__') return []
      return [[name, isObject(schemeObject) ? toScheme(schemeObject) : { type: 'other', called: references.explainFailure(reference) }]]
    }),
  )
}

function toScheme({ type, in: location, name, scheme, flows }: Record<string, unknown>): SecurityScheme {
  if (type === 'apiKey' && typeof name === 'string' && (location === 'header' || location === 'query' || location === 'cookie')) {
    return { type: 'apiKey', in: location, name }
  }
  if (type === 'http') {
    const called = String(scheme).toLowerCase()
    return called === 'basic' || called === 'bearer' ? { type: called } : { type: 'other', called: `http ${called}` }
  }
  if (type === 'openIdConnect') return { type: 'bearer' }
  if (type !== 'oauth2') return { type: 'other', called: String(type) }
  const flow = isObject(flows) ? flows['clientCredentials'] : undefined
  const tokenUrl = isObject(flow) ? flow['tokenUrl'] : undefined
  // For other flows, the configured value is a token obtained elsewhere.
  return typeof tokenUrl === 'string' ? { type: 'clientCredentials', tokenUrl } : { type: 'bearer' }
}

/** Alternative security requirements; an empty requirement means that no credentials are needed. */
export function toRequirements(reference: unknown): Record<string, string[]>[] | undefined {
  if (!Array.isArray(reference)) return undefined
  return reference
    .filter(isObject)
    .map((requirement) =>
      Object.fromEntries(Object.entries(requirement).map(([name, scopes]) => [name, Array.isArray(scopes) ? scopes.map(String) : []])),
    )
}
