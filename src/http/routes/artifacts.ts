import { create as attachment } from 'content-disposition'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../access/operations.ts'
import type { Artifacts } from '../../artifacts/artifacts.ts'
import { linkPath } from '../../artifacts/signed-links.ts'
import { invalid } from '../../errors.ts'
import { principalOf } from '../authenticate.ts'
import { toByteRange } from '../byte-range.ts'
import { ErrorReply, Id, refusals, ValidationReply } from '../schemas.ts'

const Index = Type.Integer({ minimum: 0 })

const IndexParams = Type.Object({ message_index: Index, artifact_index: Index })

const ShareBody = Type.Object({
  message_index: Index,
  artifact_index: Index,
  session_id: Type.Optional(Type.Union([Id, Type.Null()], { description: 'Where the header session-id is absent.' })),
})

const Download = Type.Object({
  body: Type.Object({
    download_url: Type.String({ description: 'Works without a key for 15 minutes.' }),
    file_name: Type.String(),
    file_type: Type.String({ description: 'MIME type.' }),
  }),
})

const Shared = Type.Object({ body: Type.Object({ path: Type.String(), file_name: Type.String(), file_type: Type.String() }) })

const file = {
  description: 'The file.',
  content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
  headers: {
    'content-disposition': { type: 'string', description: 'attachment, with the file name.' },
    'accept-ranges': { type: 'string' },
    etag: { type: 'string' },
  },
}

/** Files that the agent made. */
export function artifactRoutes(app: FastifyInstance, { artifacts }: { artifacts: Artifacts }): void {
  app.get(
    '/core/v1/download_artifact/:message_index/:artifact_index',
    {
      config: { access: accessTo.linkArtifact },
      schema: {
        tags: ['Artifacts'],
        summary: 'A link to download a file',
        headers: Type.Object({ 'session-id': Id, 'request-id': Type.Optional(Id) }),
        params: IndexParams,
        response: { 200: Download, 404: ErrorReply, 422: ValidationReply, ...refusals },
      },
    },
    async (request, reply) => {
      const { message_index: messageIndex, artifact_index: artifactIndex } = request.params as Type.Static<typeof IndexParams>
      const sessionId = String(request.headers['session-id'])
      void reply.header('session-id', sessionId)
      return { body: await artifacts.find(principalOf(request), { sessionId, messageIndex, artifactIndex }) }
    },
  )

  app.post(
    '/core/v1/share_agent_artifact',
    {
      config: { access: 'artifacts.share' },
      schema: {
        tags: ['Artifacts'],
        summary: 'Copy a file to the share folder',
        headers: Type.Object({ 'session-id': Type.Optional(Id), 'request-id': Type.Optional(Id) }),
        body: ShareBody,
        response: { 200: Shared, 404: ErrorReply, 422: ValidationReply, ...refusals },
      },
    },
    async (request, reply) => {
      const body = request.body as Type.Static<typeof ShareBody>
      const sessionId = (request.headers['session-id'] as string | undefined) ?? body.session_id
      if (sessionId === undefined || sessionId === null) throw invalid(['header', 'session-id'], 'is required', 'missing')
      void reply.header('session-id', sessionId)
      const index = { sessionId, messageIndex: body.message_index, artifactIndex: body.artifact_index }
      return { body: await artifacts.share(principalOf(request), request.id, index) }
    },
  )

  app.route({
    // Fastify's own HEAD would read the whole file to count it.
    method: ['GET', 'HEAD'],
    url: `${linkPath}/:folder/:id`,
    config: { access: 'public' },
    schema: {
      tags: ['Artifacts'],
      summary: 'What a download link hands out: the file, or the part that a range header asks for',
      params: Type.Object({ folder: Type.String(), id: Type.String() }),
      response: {
        200: file,
        206: { ...file, description: 'A part of it.', headers: { ...file.headers, 'content-range': { type: 'string' } } },
        403: ErrorReply,
        404: ErrorReply,
        410: ErrorReply,
        416: { type: 'null', description: 'It has no such part.', headers: { ...file.headers, 'content-range': { type: 'string' } } },
        500: ErrorReply,
      },
    },
    handler: (request, reply) => send(artifacts, request, reply),
  })
}

/** A client that takes nothing for so long is gone, or wishes us ill. */
const stalledMs = 60_000

/** The file, or the part of it that is asked for, as it comes from its store. Whatever it holds, no browser runs it as a page of ours. */
async function send(artifacts: Artifacts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const place = request.params as { folder: string; id: string }
  const { name, type, content } = await artifacts.open(place, request.query as Record<string, unknown>)
  const etag = `"${place.id}"`
  const condition = request.headers['if-range']
  const range = toByteRange(condition === undefined || condition === etag ? request.headers.range : undefined, content.size)
  void reply.headers({
    'content-type': type,
    'content-disposition': attachment(name),
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
    etag,
  })
  if (range === 'none') {
    await content.close()
    return reply.code(416).header('content-range', `bytes */${content.size}`).send('')
  }
  const { start, end } = range === 'all' ? { start: 0, end: content.size - 1 } : range
  if (range !== 'all') void reply.code(206).header('content-range', `bytes ${start}-${end}/${content.size}`)
  void reply.header('content-length', String(end - start + 1))
  if (request.method === 'HEAD' || end < start) {
    await content.close()
    return reply.send('')
  }
  reply.raw.setTimeout(stalledMs)
  return reply.send(content.read({ start, end }))
}
