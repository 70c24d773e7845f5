import { Type } from 'typebox'
import { GeneratedArtifact } from './schemas.ts'
import { named } from '../openapi/named.ts'

/** Schemas of files: those that tools created, and those that a chat may name. */

/** A file with its origin and a link. */
export const ListedArtifact = named(
  'ListedArtifact',
  Type.Object({
    ...GeneratedArtifact.properties,
    session_id: Type.String(),
    request_id: Type.String({ description: 'The run that made the file.' }),
  }),
)

export const ArtifactList = named(
  'ArtifactList',
  Type.Object({
    artifacts: Type.Array(ListedArtifact),
    offset: Type.String({ description: 'The value of `before` for the next page; empty for an empty page.' }),
    has_more: Type.Boolean(),
  }),
)

/** A file that a chat may name in `context_files`. */
export const ContextFile = named(
  'ContextFile',
  Type.Object({
    path: Type.String({ description: 'The value for `context_files`: a path relative to `FILES_ROOT`, or the id of an uploaded file.' }),
    size: Type.Integer({ description: 'Bytes.' }),
    media_type: Type.String({ description: 'MIME type.' }),
  }),
)

export const ContextFileList = named(
  'ContextFileList',
  Type.Object({
    files: Type.Array(ContextFile),
    has_more: Type.Boolean({ description: 'True when more files may match: use a longer `q`.' }),
  }),
)

/** The form of a file that a caller uploads for a chat. */
export const ContextFileForm = Type.Object({
  file: Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The file.' }),
})
