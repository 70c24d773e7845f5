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
  session_id: Type.Optional(Type.Union([Id, Type.Null()], { description: 'The session id, when the header session-id is absent.' })),
})

const Download = Type.Object({
  body: Type.Object({
    download_url: Type.String({ description: 'A URL that works without a key for 15 minutes.' }),
    file_name: Type.String(),
    file_type: Type.String({ description: 'MIME type.' }),
  }),
})

const Shared = Type.Object({ body: Type.Object({ path: Type.String(), file_name: Type.String(), file_type: Type.String() }) })

const file = {
  description: 'The file.',
  content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
  headers: {
    'content-disposition': { type: 'string', description: '`attachment` with the file name.' },
    'accept-ranges': { type: 'string' },
    etag: { type: 'string' },
  },
}

/** Routes of files that the agent created. */
export function artifactRoutes(app: FastifyInstance, { artifacts }: { artifacts: Artifacts }): void {
  app.get(
    '/core/v1/download_artifact/:message_index/:artifact_index',
    {
      config: { access: accessTo.linkArtifact },
      schema: {
        tags: ['Artifacts'],
        summary: 'Get a download link for a file',
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
    // The HEAD route that Fastify derives would read the whole file to determine its length.
    method: ['GET', 'HEAD'],
    url: `${linkPath}/:folder/:id`,
    config: { access: 'public' },
    schema: {
      tags: ['Artifacts'],
      summary: 'Download a file by its signed link, whole or by range',
      params: Type.Object({ folder: Type.String(), id: Type.String() }),
      response: {
        200: file,
        206: {
          ...file,
          description: 'The requested range of the file.',
          headers: { ...file.headers, 'content-range': { type: 'string' } },
        },
        403: ErrorReply,
        404: ErrorReply,
        410: ErrorReply,
        416: {
          type: 'null',
          description: 'The range begins after the end of the file.',
          headers: { ...file.headers, 'content-range': { type: 'string' } },
        },
        500: ErrorReply,
      },
    },
    handler: (request, reply) => send(artifacts, request, reply),
  })
}

/** Milliseconds without progress after which a download is aborted. */
const stalledMs = 60_000

/** Streams a file, or a range of the file, from its store. The headers keep browsers from rendering the content as a page of this origin. */
async function send(artifacts: Artifacts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const fileRef = request.params as { folder: string; id: string }
  const { name, type, content } = await artifacts.open(fileRef, request.query as Record<string, unknown>)
  const etag = `"${fileRef.id}"`
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
