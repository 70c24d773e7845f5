import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../errors.ts'
import type { ReadText } from './read-bodies.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for a route that takes `application/yaml`; its body is then the text. */
    takesYaml?: boolean
  }
}

/** RFC 9512. */
export const yamlType = 'application/yaml'

/** Reads YAML bodies as text, for the routes that take them. */
export function readYamlBodies(app: FastifyInstance, readText: ReadText): void {
  app.addContentTypeParser(yamlType, (request, _payload, done: (error: Error | null, body?: unknown) => void) => {
    const coding = request.headers['content-encoding'] ?? 'identity'
    if (!request.routeOptions.config.takesYaml) return done(refusal('The content type must be application/json.'))
    if (coding !== 'identity')
      return done(refusal(`The content coding ${coding} is not supported: send the body without a content coding.`))
    readText(request, (error, text) => done(error ?? null, text))
  })
}

function refusal(message: string): ServiceError {
  return new ServiceError('unsupported_media_type', message)
}
