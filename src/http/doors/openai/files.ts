import { route, orNull } from '../../schemas/shared.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { App } from '../../server/app.ts'
import { accessTo } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { invalid } from '../../../errors.ts'
import { type Upload, type UploadScope, toFileId, uploadIn } from '../../../uploads/upload-store.ts'
import type { Uploads, UploadDescription } from '../../../uploads/uploads.ts'
import { principalOf } from '../../server/authenticate.ts'
import { formOf, formRoute, type FormFields } from '../../server/forms.ts'
import { listOf, openAiRefusals, toList } from './replies.ts'
import { fileReplies, refuseAsCode, sendFile } from '../../server/send-file.ts'
import { openAiErrors } from './errors.ts'

const fileId = { file_id: 'file-0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11' }
const unknownFile = 'A file that does not exist, has expired or belongs to another caller is 404.'

interface FileServices {
  agent: CurrentAgent
  uploads: Uploads
}

const tag = 'OpenAI'
const params = Type.Object({ file_id: Type.String({ maxLength: 200, description: '`file-<id>`' }) })
const refusals = openAiRefusals(400, 401, 403, 404, 429, 500, 503)
const config = { access: accessTo.chat, errorShape: openAiErrors }

/** The caller's uploaded files, in the form of OpenAI's API. Ids of other callers are unknown. */
export const fileRoutes = [uploadRoute, listRoute, readRoute, deleteRoute, contentRoutes] as const

function show(agent: CurrentAgent, upload: Upload): Static<typeof File> {
  return toFile(upload, agent().config.retention.uploads)
}

function uploadRoute(app: App, { agent, uploads }: FileServices): void {
  app.post(
    '/v1/files',
    {
      ...route({ ...config, takesForm: true }, tag, {
        summary: 'Upload a file',
        text: `Uploads a file as \`multipart/form-data\`, through the interface of OpenAI. The bytes go to the artifact store while they arrive. After an upload that breaks off nothing is left.

The \`id\` can be part of a message of \`POST /v1/chat/completions\` and \`POST /v1/responses\`: images for models that see, PDF, audio and video for models that take them, other documents as text. \`context_files\` of a chat may have the \`id\` too.

A file may have \`limits.max_upload_bytes\`, the files of a caller \`limits.max_owner_upload_bytes\` together, those of a tenant \`limits.max_tenant_upload_bytes\`: more is 413. A file is deleted after \`expires_after\` or \`retention.uploads\`, whichever comes first.

400: a field is missing, unknown or wrong, or the form is not complete. 503: the store cannot be reached.`,
        examples: {
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
        consumes: ['multipart/form-data'],
        body: FileForm,
        response: { 200: File, ...refusals, ...openAiRefusals(408, 413, 415) },
      }),
      ...formRoute,
    },
    async (request) => {
      return formOf(request).receive(async ({ name, type, maxBytes, content }, fields) => {
        const describe = async () => toDescription(await fields(), { name, type }, Date.now())
        return show(agent, await uploads.add(principalOf(request), { isKnowledge: false, maxBytes, content, describe }))
      })
    },
  )
}

function listRoute(app: App, { agent, uploads }: FileServices): void {
  app.get(
    '/v1/files',
    route(config, tag, {
      summary: 'List the uploaded files of the caller',
      text: 'The files that the caller has uploaded, newest first. Documents of `knowledge_search` are not among them.',
      parameters: { limit: 20, order: 'desc', after: fileId.file_id, purpose: 'user_data' },
      querystring: FileQuery,
      response: { 200: FileList, ...refusals },
    }),
    async (request) => {
      const { limit, order, after, purpose } = request.query
      const page = {
        limit,
        purpose,
        after: after === undefined ? undefined : toPosition(after),
        order: order === 'asc' ? 'oldest_first' : 'newest_first',
      } as const
      const { uploads: files, hasMore } = await uploads.list(scopeOf(request), page)
      return toList(
        files.map((upload) => show(agent, upload)),
        hasMore,
      )
    },
  )
}

function readRoute(app: App, { agent, uploads }: FileServices): void {
  app.get(
    '/v1/files/:file_id',
    route(config, tag, {
      summary: 'Get an uploaded file, without its content',
      text: `Name, size and expiry of a file.\n\n${unknownFile}`,
      parameters: fileId,
      params,
      response: { 200: File, ...refusals },
    }),
    async (request) => show(agent, await uploads.find(scopeOf(request), uploadIdOf(request))),
  )
}

function deleteRoute(app: App, { uploads }: FileServices): void {
  app.delete(
    '/v1/files/:file_id',
    route(config, tag, {
      summary: 'Delete an uploaded file',
      text: `Deletes the file with its bytes. Chats that were accepted before keep what they have read of the file.\n\n${unknownFile}`,
      parameters: fileId,
      params,
      response: { 200: DeletedFile, ...refusals },
    }),
    async (request) => {
      const id = uploadIdOf(request)
      await uploads.remove(scopeOf(request), id, principalOf(request))
      return { id: toFileId(id), object: 'file', deleted: true }
    },
  )
}

function contentRoutes(app: App, { uploads }: FileServices): void {
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
      tags: [tag],
      summary: 'Download an uploaded file, whole or by range',
      text: `The bytes as an attachment that browsers do not render.\n\n${unknownFile}`,
      parameters: fileId,
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

/** Purposes of OpenAI's API that mean something here. */
const purposes = ['user_data', 'assistants', 'vision'] as const
/** Purposes of OpenAI's API that need a part which this service lacks. */
const foreignPurposes: Readonly<Record<string, string>> = {
  batch: 'there are no batches',
  'fine-tune': 'there is no fine-tuning',
  evals: 'there are no evaluations',
}

const Purpose = Type.Enum([...purposes], {
  description: 'What the file is for. All purposes are treated alike: the file can be part of any message.',
})

const minSeconds = 3600
const maxSeconds = 30 * 24 * 3600

const FileForm = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The file.' }),
  purpose: Purpose,
  'expires_after[anchor]': Type.Optional(Type.Literal('created_at', { description: 'The only anchor.' })),
  'expires_after[seconds]': Type.Optional(
    Type.Integer({
      minimum: minSeconds,
      maximum: maxSeconds,
      description: 'Seconds after the upload. Default: as long as `retention.uploads` keeps files.',
    }),
  ),
})

const FileQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 10_000 }),
  order: Type.Enum(['asc', 'desc'], { default: 'desc', description: '`desc`: newest first.' }),
  after: Type.Optional(Type.String({ maxLength: 200, description: 'The id of a file: the page begins after this file.' })),
  purpose: Type.Optional(Purpose),
})

export const File = Type.Object({
  id: Type.String({ description: '`file-<id>`' }),
  object: Type.Literal('file'),
  bytes: Type.Integer(),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  expires_at: orNull(
    Type.Integer(),
    'Epoch seconds: the end by `expires_after` or by `retention.uploads`, whichever is earlier. `null`: none.',
  ),
  filename: Type.String(),
  purpose: Purpose,
  status: Type.Literal('processed'),
})

const FileList = listOf(File)

const DeletedFile = Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) })

/** The upload of `file-<id>`. Another text gives an id that no upload has. */
export function toUploadId(fileId: string): string {
  return uploadIn(fileId) ?? ''
}

/** `retentionDays`: 0 means no limit. */
export function toFile({ id, size, createdAt, expiresAt, name, purpose }: Upload, retentionDays: number): Static<typeof File> {
  const prunedAt = retentionDays > 0 ? createdAt + retentionDays * 24 * 3_600_000 : Infinity
  const endMs = Math.min(expiresAt ?? Infinity, prunedAt)
  return {
    id: toFileId(id),
    object: 'file',
    bytes: size,
    created_at: Math.floor(createdAt / 1000),
    expires_at: Number.isFinite(endMs) ? Math.floor(endMs / 1000) : null,
    filename: name,
    purpose: purpose as Static<typeof Purpose>,
    status: 'processed',
  }
}

/** Checks the fields of `POST /v1/files`. Throws `validation`. */
function toDescription(fields: FormFields, file: { name: string; type: string }, now: number): UploadDescription {
  for (const name of fields.keys()) if (!knownFields.has(name)) throw invalid(['body', name], 'is not known', 'unsupported_parameter')
  return { ...file, purpose: toPurpose(fields.get('purpose')), expiresAt: toExpiry(fields, now) }
}

const knownFields = new Set(Object.keys(FileForm.properties))

function toPurpose(purpose: string | undefined): string {
  const loc = ['body', 'purpose']
  if (purpose === undefined) throw invalid(loc, 'is required', 'missing')
  if (purposes.some((known) => known === purpose)) return purpose
  const reason = Object.hasOwn(foreignPurposes, purpose) ? `${foreignPurposes[purpose]} here; ` : ''
  throw invalid(loc, `${reason}must be one of: ${purposes.join(', ')}`)
}

function toExpiry(fields: FormFields, now: number): number | undefined {
  const anchor = fields.get('expires_after[anchor]')
  const seconds = fields.get('expires_after[seconds]')
  if (anchor === undefined && seconds === undefined) return undefined
  if (anchor !== 'created_at') throw invalid(['body', 'expires_after', 'anchor'], 'must be created_at')
  const count = /^\d{1,8}$/.test(seconds ?? '') ? Number(seconds) : NaN
  if (!(count >= minSeconds && count <= maxSeconds))
    throw invalid(['body', 'expires_after', 'seconds'], `must be a whole number from ${minSeconds} to ${maxSeconds}`)
  return now + count * 1000
}
