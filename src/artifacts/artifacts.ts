import { buffer } from 'node:stream/consumers'
import type { Artifact, KeepArtifact } from '../agent/messages.ts'
import { isAdmin, type Principal } from '../access/permissions.ts'
import { ServiceError } from '../errors.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import { toGeneratedArtifact } from '../sessions/sessions.ts'
import type { AnswerFile, ToAnswerFiles } from './answer-files.ts'
import {
  createReach,
  type ArtifactBytes,
  type LinkedFile,
  type OpenArtifact,
  type ArtifactPage,
  type ArtifactStore,
  type Reach,
  type StoredArtifact,
  type ShareFolder,
} from './artifact-store.ts'
import { createKeeper, type KeeperOptions } from './keep.ts'
import { createSignedLinks, type UntrustedQuery } from './signed-links.ts'

/** A file by its position in a session, as callers name it. */
interface ArtifactIndex {
  sessionId: string
  messageIndex: number
  /** Index in the message's `generated_artifacts`. */
  artifactIndex: number
}

/** The `body` of a download. */
interface ArtifactLink {
  /** Valid without a key for 15 minutes. */
  download_url: string
  file_name: string
  file_type: string
}

/** A stored file with its link; times in epoch milliseconds. */
export interface ListedArtifact extends StoredArtifact {
  downloadUrl: string
  expiresAt: number
}

/** The `body` of a share. */
interface SharedArtifact {
  path: string
  file_name: string
  file_type: string
}

/**
 * Files made by tools. `not_found` also covers files of other callers; unreachable bytes give `artifacts_unavailable`.
 */
export interface Artifacts {
  /** Returns a function that stores the files of one run or direct execution. */
  keeper(options: KeeperOptions): KeepArtifact
  find(principal: Principal, index: ArtifactIndex): Promise<ArtifactLink>
  /** Lists the caller's own files, newest first. */
  list(principal: Principal, page: ArtifactPage): Promise<{ artifacts: ListedArtifact[]; hasMore: boolean }>
  /** Opens a file by its id; the caller reads or closes the file. */
  content(principal: Principal, id: string): Promise<LinkedFile & { content: OpenArtifact }>
  /** Copies a file to the share folder for other programs. */
  share(principal: Principal, requestId: string, index: ArtifactIndex): Promise<SharedArtifact>
  toAnswerFiles: ToAnswerFiles
  /** The bytes of a stored file; undefined when they are gone. */
  read(folder: string, artifact: Artifact): Promise<Uint8Array | undefined>
  /** Opens the file of a signed link; the caller reads or closes the file. */
  open(location: { folder: string; id: string }, query: UntrustedQuery): Promise<LinkedFile & { content: OpenArtifact }>
  /** Copies the files of one session, by key, to another. */
  copyAll(sourceKey: string, targetKey: string): Promise<void>
  deleteAll(session: string): Promise<void>
  /** Deletes files of a session, by key. */
  delete(session: string, ids: readonly string[]): Promise<void>
}

export interface ArtifactsDependencies {
  bytes: ArtifactBytes
  sessions: SessionStore
  store: ArtifactStore
  shareFolder: ShareFolder
  /** Secrets for signatures of links: the first signs, all verify. */
  secrets(): readonly Uint8Array[]
  /** The base URL of the service for clients, without a trailing slash. */
  publicUrl(): string
  now(): number
  newId(): string
  onFault(error: unknown): void
}

const linkSeconds = 15 * 60

export function createArtifacts(deps: ArtifactsDependencies): Artifacts {
  const { bytes, sessions, store, shareFolder } = deps
  const reach = createReach(deps.onFault)
  const links = createLinks(deps, reach)

  return {
    keeper: (options) => createKeeper(options, deps),

    async toAnswerFiles({ folder, made }, mayLink) {
      if (!mayLink) return made.map(toGeneratedArtifact)
      return Promise.all(made.map((artifact) => links.toAnswerFile(folder, artifact)))
    },

    async find(principal, index) {
      const { artifact, folder } = await locate(sessions, principal, index)
      if (!(await reach(bytes.has({ folder, id: artifact.id })))) throw missing(artifact.name)
      return { download_url: await links.linkTo(folder, artifact), file_name: artifact.name, file_type: artifact.type }
    },

    async list(principal, { limit, before }) {
      const found = await store.list(principal, { limit: limit + 1, before })
      const expiresAt = links.expiry()
      const withLink = async (artifact: StoredArtifact) => ({
        ...artifact,
        downloadUrl: await links.linkTo(artifact.session, artifact),
        expiresAt,
      })
      return { artifacts: await Promise.all(found.slice(0, limit).map(withLink)), hasMore: found.length > limit }
    },

    async content(principal, id) {
      const artifact = await store.find(principal, id, { anyOwner: isAdmin(principal) })
      if (!artifact) throw new ServiceError('not_found', `There is no artifact ${id}.`)
      const { session: folder, name, type } = artifact
      const content = await reach(bytes.open({ folder, id }))
      if (!content) throw missing(name)
      return { name, type, content }
    },

    async share(principal, requestId, index) {
      const { artifact, folder } = await locate(sessions, principal, index)
      const content = await reach(bytes.open({ folder, id: artifact.id }))
      if (!content) throw missing(artifact.name)
      try {
        const path = await shareFolder.copy(requestId, artifact.name, () => content.read())
        return { path, file_name: artifact.name, file_type: artifact.type }
      } catch (cause) {
        deps.onFault(cause)
        throw new ServiceError('copy_failed', `${artifact.name} could not be copied to the share folder.`, { cause })
      } finally {
        await content.close()
      }
    },

    async read(folder, { id }) {
      const content = await reach(bytes.open({ folder, id }))
      return content && buffer(content.read())
    },

    async open(location, query) {
      const { name, type } = links.signed.check(location, query)
      const content = await reach(bytes.open(location))
      if (!content) throw missing(name)
      return { name, type, content }
    },

    copyAll: (sourceKey, targetKey) => reach(bytes.copyAll(sourceKey, targetKey)),
    deleteAll: (session) => bytes.deleteAll(session),
    async delete(folder, ids) {
      for (const id of ids) await bytes.delete({ folder, id })
    },
  }
}

function missing(name: string): ServiceError {
  return new ServiceError('not_found', `${name} is no longer there.`)
}

/** Finds an artifact. An administrator may read all files of the tenant, as with sessions. */
async function locate(sessions: SessionStore, principal: Principal, { sessionId, messageIndex, artifactIndex }: ArtifactIndex) {
  const session = await sessions.find(principal, sessionId, { anyOwner: isAdmin(principal) })
  if (!session) throw new ServiceError('not_found', `There is no session ${sessionId}.`)
  const message = await sessions.message(session.tenant, session.key, messageIndex)
  if (!message) throw new ServiceError('not_found', `The session has no message ${messageIndex}.`)
  const artifact = message.data?.artifacts?.[artifactIndex]
  if (!artifact) throw new ServiceError('not_found', `Message ${messageIndex} has no artifact ${artifactIndex}.`)
  return { artifact, folder: session.key }
}

/** Links to files: of the store itself, or else signed links of this service. */
function createLinks({ bytes, secrets, publicUrl, now }: ArtifactsDependencies, reach: Reach) {
  const signed = createSignedLinks(secrets, now)

  async function linkTo(folder: string, { id, name, type }: Artifact): Promise<string> {
    const storeUrl = bytes.link && (await reach(bytes.link({ folder, id }, { name, type }, linkSeconds)))
    return storeUrl ?? publicUrl() + signed.sign({ folder, id, name, type }, linkSeconds)
  }

  /** Epoch milliseconds, on a whole second as in links. Never later than the end of a link that is signed now. */
  const expiry = () => (Math.floor(now() / 1000) + linkSeconds) * 1000

  async function toAnswerFile(folder: string, artifact: Artifact): Promise<AnswerFile> {
    const expiresAt = expiry()
    const url = await linkTo(folder, artifact).catch(() => undefined)
    const link = url === undefined ? {} : { download_url: url, expires_at: new Date(expiresAt).toISOString() }
    return { ...toGeneratedArtifact(artifact), ...link }
  }

  return { signed, linkTo, expiry, toAnswerFile }
}
