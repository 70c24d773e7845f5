import { Type, type Static } from 'typebox'
import { invalid } from '../../../errors.ts'
import { type Upload, toFileId, uploadIn } from '../../../uploads/upload-store.ts'
import type { UploadDescription } from '../../../uploads/uploads.ts'
import type { FormFields } from '../../server/forms.ts'

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

export const FileForm = Type.Object({
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

export const FileQuery = Type.Object({
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
  expires_at: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Epoch seconds: the end by `expires_after` or by `retention.uploads`, whichever is earlier. `null`: none.',
  }),
  filename: Type.String(),
  purpose: Purpose,
  status: Type.Literal('processed'),
})

export const FileList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(File),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
})

export const DeletedFile = Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) })

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
export function toDescription(fields: FormFields, file: { name: string; type: string }, now: number): UploadDescription {
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
