import { replies, route, ErrorReply, Id, Offset, pageLimit, refusals, ValidationReply, maybe, namedObject } from '../schemas/shared.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import type { ArtifactPosition } from '../../artifacts/artifact-store.ts'
import type { Artifacts, ListedArtifact as Listed } from '../../artifacts/artifacts.ts'
import { linkPath } from '../../artifacts/signed-links.ts'
import { invalid } from '../../errors.ts'
import { parsePosition, toOffset } from '../../json/offset.ts'
import { toGeneratedArtifact } from '../../sessions/sessions.ts'
import { principalOf } from '../server/authenticate.ts'
import { fileReplies, refuseAsCode, sendFile } from '../server/send-file.ts'
import { GeneratedArtifact } from '../schemas/chat.ts'

/** Schemas of files: files created by tools, and files that a chat may name. */

/** A file with its origin and a link. */
export const ListedArtifact = namedObject('ListedArtifact', {
  ...GeneratedArtifact.properties,
  session_id: Type.String(),
  request_id: Type.String({ description: 'The run that made the file.' }),
})

export const ArtifactList = namedObject('ArtifactList', {
  artifacts: Type.Array(ListedArtifact),
  offset: Type.String({ description: 'The value of `before` for the next page; empty for an empty page.' }),
  has_more: Type.Boolean(),
})

const Index = Type.Integer({ minimum: 0 })

const IndexParams = Type.Object({ message_index: Index, artifact_index: Index })

const ShareBody = namedObject('ShareRequest', {
  message_index: Index,
  artifact_index: Index,
  session_id: maybe(Id, 'The session id, when the header session-id is absent.'),
})

export const Download = namedObject('ArtifactDownload', {
  body: Type.Object({
    download_url: Type.String({ description: 'A URL that works without a key for 15 minutes.' }),
    file_name: Type.String(),
    file_type: Type.String({ description: 'MIME type.' }),
  }),
})

export const Shared = namedObject('SharedArtifact', {
  body: Type.Object({ path: Type.String(), file_name: Type.String(), file_type: Type.String() }),
})

const Query = Type.Object({ limit: pageLimit, before: Offset })

const LinkQuery = Type.Object({
  name: Type.String({ description: 'The name of the file, as the link has it.' }),
  type: Type.String({ description: 'The MIME type of the file, as the link has it.' }),
  expires: Type.String({ description: 'The end of the link in epoch seconds.' }),
  signature: Type.String({ description: 'The signature over the link.' }),
})

const whereIndex =
  '`message_index` is the place of the answer in `messages` of the session, `artifact_index` the place of the file in `response_metadata.generated_artifacts` of that message. In a new session, the question `Write "Back at 3" to a file note.txt` makes message 1 with file 0; the reply has the header `session-id`.'

/** Routes of files that the agent created. */
export const artifactRoutes = [downloadLinkRoute, shareRoute, listRoute, contentRoutes, linkRoutes] as const

function downloadLinkRoute(app: App, { artifacts }: { artifacts: Artifacts }): void {
  app.get(
    '/core/v1/download_artifact/:message_index/:artifact_index',
    route(accessTo.linkArtifact, 'Artifacts', {
      summary: 'Get a download link for a file',
      text: `A link for a browser or another program: it works without a key for 15 minutes, and then is 410.

${whereIndex} 404: there is no such session, message or file.`,
      headers: Type.Object({ 'session-id': Id, 'request-id': Type.Optional(Id) }),
      params: IndexParams,
      response: replies({ 200: Download }, 404, 422),
    }),
    async (request, reply) => {
      const { message_index: messageIndex, artifact_index: artifactIndex } = request.params
      const sessionId = request.headers['session-id']
      void reply.header('session-id', sessionId)
      return { body: await artifacts.find(principalOf(request), { sessionId, messageIndex, artifactIndex }) }
    },
  )
}

function shareRoute(app: App, { artifacts }: { artifacts: Artifacts }): void {
  app.post(
    '/core/v1/share_agent_artifact',
    route('artifacts.share', 'Artifacts', {
      summary: 'Copy a file to the share folder',
      text: `Copies a file to \`ARTIFACT_SHARE_DIR\` of the service's machine, below a folder that is named after the request id, for programs that read this folder. The header \`session-id\` wins over \`session_id\`.

${whereIndex} 404: there is no such session, message or file.`,
      examples: {
        first: { summary: 'The first file of the first answer', value: { message_index: 1, artifact_index: 0 } },
      },
      headers: Type.Object({ 'session-id': Type.Optional(Id), 'request-id': Type.Optional(Id) }),
      body: ShareBody,
      response: replies({ 200: Shared }, 404, 422),
    }),
    async (request, reply) => {
      const body = request.body
      const sessionId = request.headers['session-id'] ?? body.session_id
      if (sessionId === undefined || sessionId === null) throw invalid(['header', 'session-id'], 'is required', 'missing')
      void reply.header('session-id', sessionId)
      const index = { sessionId, messageIndex: body.message_index, artifactIndex: body.artifact_index }
      return { body: await artifacts.share(principalOf(request), request.id, index) }
    },
  )
}

function listRoute(app: App, { artifacts }: { artifacts: Artifacts }): void {
  app.get(
    '/core/v1/artifacts',
    route(accessTo.linkArtifact, 'Artifacts', {
      summary: "List the caller's files, newest first",
      description:
        "The files that tools created in the caller's chats, with the session and the run that they come from. Files disappear with their " +
        'session. A forked session has the files of its source under the same ids. Files of direct tool executions are not listed.',
      text: 'Each file has a link that works without a key for 15 minutes.',
      querystring: Query,
      response: replies({ 200: ArtifactList }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const page = { limit, before: before === undefined ? undefined : toPosition(before) }
      const { artifacts: files, hasMore } = await artifacts.list(principalOf(request), page)
      const last = files.at(-1)
      return { artifacts: files.map(toListed), offset: last ? toOffset([last.id, last.sessionId]) : '', has_more: hasMore }
    },
  )
}

function contentRoutes(app: App, { artifacts }: { artifacts: Artifacts }): void {
  const content = {
    url: '/core/v1/artifacts/:artifact_id/content',
    config: { access: accessTo.linkArtifact },
    preHandler: refuseAsCode,
    handler: async (request: FastifyRequest<{ Params: { artifact_id: string } }>, reply: FastifyReply) => {
      const { artifact_id: id } = request.params
      return sendFile({ id, ...(await artifacts.content(principalOf(request), id)) }, request, reply)
    },
  }

  app.route({
    ...content,
    method: 'GET',
    exposeHeadRoute: false,
    schema: {
      tags: ['Artifacts'],
      summary: 'Download a file by its id, whole or by range',
      description:
        'Sends the bytes through the service as an attachment that browsers do not render. A caller reads own files; an administrator reads ' +
        'the files of the tenant. HEAD answers with the headers alone.',
      text: 'Take an `artifact_id` from `GET /core/v1/artifacts`. A header `range` gets a part (206); a range outside of the file is 416.',
      params: Type.Object({ artifact_id: Id }),
      response: { ...fileReplies, 404: ErrorReply, 422: ValidationReply, ...refusals },
    },
  })

  app.route({ ...content, method: 'HEAD', schema: { hide: true } })
}

function linkRoutes(app: App, { artifacts }: { artifacts: Artifacts }): void {
  const link = {
    url: `${linkPath}/:folder/:id`,
    config: { access: 'public' as const },
    preHandler: refuseAsCode,
    handler: async (
      request: FastifyRequest<{ Params: { folder: string; id: string }; Querystring: Record<string, unknown> }>,
      reply: FastifyReply,
    ) => {
      const location = request.params
      const opened = await artifacts.open(location, request.query)
      return sendFile({ id: location.id, ...opened }, request, reply)
    },
  }

  app.route({
    ...link,
    method: 'GET',
    // The HEAD route that Fastify derives would read the whole file to determine its length.
    exposeHeadRoute: false,
    // A link that is not whole is 403, whatever is wrong with it.
    attachValidation: true,
    schema: {
      tags: ['Artifacts'],
      summary: 'Download a file by its signed link, whole or by range',
      text: 'The address behind `download_url`. Take the whole link, since its query has the signature: a link without one is 403, an expired one 410. A header `range` gets a part (206). HEAD answers with the headers alone.',
      parameters: { name: 'note.txt', type: 'text/plain', expires: '1795340000', signature: '4Yb1l0Zr7mKq' },
      params: Type.Object({ folder: Type.String(), id: Type.String() }),
      querystring: LinkQuery,
      response: { ...fileReplies, 403: ErrorReply, 404: ErrorReply, 410: ErrorReply, 500: ErrorReply },
    },
  })

  app.route({ ...link, method: 'HEAD', schema: { hide: true } })
}

function toPosition(offset: string): ArtifactPosition {
  const [id, sessionId, ...rest] = parsePosition(offset) ?? []
  if (typeof id === 'string' && typeof sessionId === 'string' && rest.length === 0) return { id, sessionId }
  throw invalid(['query', 'before'], 'is not the offset of a page')
}

function toListed(artifact: Listed): Type.Static<typeof ListedArtifact> {
  const { sessionId, requestId, downloadUrl, expiresAt } = artifact
  return {
    ...toGeneratedArtifact(artifact),
    session_id: sessionId,
    request_id: requestId,
    download_url: downloadUrl,
    expires_at: new Date(expiresAt).toISOString(),
  }
}
