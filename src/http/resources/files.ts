import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid } from '../../errors.ts'
import { type Upload, type UploadScope, toFileId } from '../../uploads/upload-store.ts'
import type { Uploads } from '../../uploads/uploads.ts'
import { principalOf } from '../server/authenticate.ts'
import { formOf, formRoute } from '../server/forms.ts'
import { openAiRefusals } from '../doors/openai/replies.ts'
import { DeletedFile, File, FileForm, FileList, FileQuery, toDescription, toFile, toUploadId } from '../doors/openai/uploaded-files.ts'
import { fileReplies, refuseAsCode, sendFile } from '../server/send-file.ts'

const fileId = { file_id: 'file-0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11' }
const unknownFile = 'A file that does not exist, has expired or belongs to another caller is 404.'

export interface FileServices {
  agent: CurrentAgent
  uploads: Uploads
}

const tags = ['OpenAI']
const params = Type.Object({ file_id: Type.String({ maxLength: 200, description: '`file-<id>`' }) })
const refusals = openAiRefusals(400, 401, 403, 404, 429, 500, 503)
const config = { access: accessTo.chat, errorShape: 'openai' as const }

/** The caller's uploaded files, in the form of OpenAI's API. Ids of other callers are unknown. */
export function fileRoutes(app: App, { agent, uploads }: FileServices): void {
  const show = (upload: Upload) => toFile(upload, agent().config.retention.uploads)

  app.post(
    '/v1/files',
    {
      config: { ...config, takesForm: true },
      ...formRoute,
      schema: {
        tags,
        summary: 'Upload a file',
        details: () => ({
          description: `Uploads a file as \`multipart/form-data\`, through the interface of OpenAI. The bytes go to the artifact store while they arrive. After an upload that breaks off nothing is left.

The \`id\` can be part of a message of \`POST /v1/chat/completions\` and \`POST /v1/responses\`: images for models that see, PDF, audio and video for models that take them, other documents as text. \`context_files\` of a chat may have the \`id\` too.

A file may have \`limits.max_upload_bytes\`, the files of a caller \`limits.max_owner_upload_bytes\` together, those of a tenant \`limits.max_tenant_upload_bytes\`: more is 413. A file is deleted after \`expires_after\` or \`retention.uploads\`, whichever comes first.

400: a field is missing, unknown or wrong, or the form is not complete. 503: the store cannot be reached.`,
          requests: {
            'multipart/form-data': {
              text: { summary: 'A text file', value: { file: 'The meeting is on Monday.', purpose: 'user_data' } },
              expiring: {
                summary: 'A file for an hour',
                value: {
                  file: 'The meeting is on Monday.',
                  purpose: 'user_data',
                  'expires_after[anchor]': 'created_at',
                  'expires_after[seconds]': 3600,
                },
              },
            },
          },
        }),
        consumes: ['multipart/form-data'],
        body: FileForm,
        response: { 200: File, ...refusals, ...openAiRefusals(408, 413, 415) },
      },
    },
    async (request) => {
      return formOf(request).receive(async ({ name, type, maxBytes, content }, fields) => {
        const describe = async () => toDescription(await fields(), { name, type }, Date.now())
        return show(await uploads.add(principalOf(request), { isKnowledge: false, maxBytes, content, describe }))
      })
    },
  )

  app.get(
    '/v1/files',
    {
      config,
      schema: {
        tags,
        summary: 'List the uploaded files of the caller',
        details: () => ({
          description: 'The files that the caller has uploaded, newest first. Documents of `knowledge_search` are not among them.',
          parameters: { limit: 20, order: 'desc', after: fileId.file_id, purpose: 'user_data' },
        }),
        querystring: FileQuery,
        response: { 200: FileList, ...refusals },
      },
    },
    async (request) => {
      const { limit, order, after, purpose } = request.query
      const page = {
        limit,
        purpose,
        after: after === undefined ? undefined : toPosition(after),
        order: order === 'asc' ? 'oldest_first' : 'newest_first',
      } as const
      const { uploads: files, hasMore } = await uploads.list(scopeOf(request), page)
      const data = files.map(show)
      return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore }
    },
  )

  app.get(
    '/v1/files/:file_id',
    {
      config,
      schema: {
        tags,
        summary: 'Get an uploaded file, without its content',
        details: () => ({ description: `Name, size and expiry of a file.\n\n${unknownFile}`, parameters: fileId }),
        params,
        response: { 200: File, ...refusals },
      },
    },
    async (request) => show(await uploads.find(scopeOf(request), uploadIdOf(request))),
  )

  app.delete(
    '/v1/files/:file_id',
    {
      config,
      schema: {
        tags,
        summary: 'Delete an uploaded file',
        details: () => ({
          description: `Deletes the file with its bytes. Chats that were accepted before keep what they have read of the file.\n\n${unknownFile}`,
          parameters: fileId,
        }),
        params,
        response: { 200: DeletedFile, ...refusals },
      },
    },
    async (request) => {
      const id = uploadIdOf(request)
      await uploads.remove(scopeOf(request), id)
      return { id: toFileId(id), object: 'file', deleted: true }
    },
  )

  const content = {
    url: '/v1/files/:file_id/content',
    config,
    preHandler: refuseAsCode,
    handler: async (request: FileRequest, reply: FastifyReply) => {
      const { upload, content } = await uploads.open(scopeOf(request), uploadIdOf(request))
      return sendFile({ id: upload.id, name: upload.name, type: upload.type, content }, request, reply)
    },
  }
  app.route({
    ...content,
    method: 'GET',
    exposeHeadRoute: false,
    schema: {
      tags,
      summary: 'Download an uploaded file, whole or by range',
      details: () => ({
        description: `The bytes as an attachment that browsers do not render.\n\n${unknownFile}`,
        parameters: fileId,
      }),
      params,
      response: { ...fileReplies, ...refusals },
    },
  })
  app.route({ ...content, method: 'HEAD', schema: { hide: true } })
}

function toPosition(after: string): string {
  const id = toUploadId(after)
  if (id === '') throw invalid(['query', 'after'], `there is no file ${after}`)
  return id
}

function scopeOf(request: FastifyRequest): UploadScope {
  const { tenant, owner } = principalOf(request)
  return { kind: 'own', tenant, owner }
}

type FileRequest = FastifyRequest<{ Params: Static<typeof params> }>

function uploadIdOf(request: FileRequest): string {
  return toUploadId(request.params.file_id)
}
