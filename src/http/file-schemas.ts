import { Type } from 'typebox'
import { GeneratedArtifact } from './schemas.ts'

/** Schemas of files: those that tools created, and those that a chat may name. */

const artifactListExample = {
  artifacts: [
    {
      artifact_id: '019abc3e-7c1f-7d3a-9b52-0c2f6f1e4a11',
      file_name: 'sales.csv',
      file_type: 'text/csv',
      size: 1204,
      sha256: '5f2c8b0d6d8f0c4d1a5b7c3f9e2a6d4b8c1f0e3a7d5b9c2e6f4a8d1b3c5e7f90',
      tool: 'write_file',
      created_at: '2026-11-22T09:30:00.000Z',
      session_id: 'sales-review',
      request_id: '019abc3e-6f00-7a10-8c22-5d1e0b9f7a33',
      download_url: 'http://127.0.0.1:8080/core/v1/artifacts/019abc3e-6e10-7000-8000-000000000001/019abc3e-7c1f-7d3a-9b52-0c2f6f1e4a11',
      expires_at: '2026-11-22T09:45:00.000Z',
    },
  ],
  offset: 'WyIwMTlhYmMzZSIsInNhbGVzLXJldmlldyJd',
  has_more: false,
}

/** A file with its origin and a link. */
export const ListedArtifact = Type.Object({
  ...GeneratedArtifact.properties,
  session_id: Type.String(),
  request_id: Type.String({ description: 'The run that made the file.' }),
  download_url: Type.Optional(Type.String({ description: 'A URL that works without a key until `expires_at`.' })),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
})

export const ArtifactList = Type.Object(
  {
    artifacts: Type.Array(ListedArtifact),
    offset: Type.String({ description: 'The value of `before` for the next page; empty for an empty page.' }),
    has_more: Type.Boolean(),
  },
  { example: artifactListExample },
)

/** A file that a chat may name in `context_files`. */
export const ContextFile = Type.Object({
  path: Type.String({ description: 'The value for `context_files`, relative to `FILES_ROOT`.' }),
  size: Type.Integer({ description: 'Bytes.' }),
  media_type: Type.String({ description: 'MIME type.' }),
})

export const ContextFileList = Type.Object(
  { files: Type.Array(ContextFile), has_more: Type.Boolean({ description: 'True when more files may match: use a longer `q`.' }) },
  { example: { files: [{ path: 'handbook/leave.md', size: 2481, media_type: 'text/markdown' }], has_more: false } },
)
