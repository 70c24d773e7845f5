import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, lstat, mkdir, open, rm, rmdir, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ShareFolder } from '../../artifacts/artifact-store.ts'

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_CREAT, O_EXCL, O_WRONLY } = constants

/**
 * `ShareFolder` on the file system. The default is under /tmp, where other users may plant links and folders. So each step starts from the
 * folder handle of the previous step instead of a path, which may lead elsewhere by now, and follows no link.
 */
export function createShareFolder(root: string): ShareFolder {
  return {
    async copy(name, fileName, read) {
      await mkdir(root, { recursive: true })
      await using share = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      const within = await stablePathOf(share, root)
      const folder = await makeFolder(within, name)
      try {
        await using requestFolder = await open(path.join(within, folder), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        await requireTrusted(root, share, requestFolder)
        await write(path.join(await stablePathOf(requestFolder, path.join(root, folder)), fileName), read)
      } catch (error) {
        await rmdir(path.join(within, folder)).catch(() => undefined)
        throw error
      }
      return path.join(root, folder, fileName)
    },
  }
}

async function makeFolder(within: string, name: string): Promise<string> {
  try {
    await mkdir(path.join(within, name))
    return name
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const uniqueName = `${name}-${randomUUID()}`
    await mkdir(path.join(within, uniqueName))
    return uniqueName
  }
}

async function write(file: string, read: Parameters<ShareFolder['copy']>[2]): Promise<void> {
  const handle = await open(file, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o644)
  try {
    await pipeline(read(), handle.createWriteStream({ flush: true }))
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

/** A path to an open folder that cannot be redirected (`/proc/self/fd` on Linux); on other systems the usual path. */
async function stablePathOf(folder: FileHandle, usual: string): Promise<string> {
  const descriptorPath = `/proc/self/fd/${folder.fd}`
  return access(descriptorPath).then(
    () => descriptorPath,
    () => usual,
  )
}

/**
 * Throws when another user may own the share folder, because its owner can read and replace the copies. In a parent writable by everybody,
 * any user may have created the folder first. A mount point was set up by an administrator.
 */
async function requireTrusted(root: string, share: FileHandle, requestFolder: FileHandle): Promise<void> {
  const [{ uid, dev }, requestFolderStat, parent] = [await share.stat(), await requestFolder.stat(), await lstat(path.dirname(root))]
  const isPublicParent = (parent.mode & 0o002) !== 0 && parent.dev === dev
  if (uid === requestFolderStat.uid || uid === 0 || !isPublicParent) return
  throw new Error(`The share folder ${root} belongs to another user (uid ${uid}).`)
}
