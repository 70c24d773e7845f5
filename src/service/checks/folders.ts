import { access, constants, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { isHeld, isOpenToOthers } from '../../store/sqlite/data-dir.ts'

/** Checks that the data directory can be used. `findService` returns the address of the service that uses the directory already. */
export async function checkDataDir(
  { dataDir, databaseUrl }: Settings,
  findService: (of: Pick<Settings, 'dataDir' | 'databaseUrl'>) => Promise<string | undefined>,
): Promise<Finding> {
  const label = `data directory: ${dataDir}`
  if (!(await exists(dataDir))) {
    if (await isWritable(await nearestFolder(dataDir))) return { state: 'ok', text: `${label} is created by the first start` }
    return { state: 'fail', text: `${label} cannot be created`, advice: 'Set DATA_DIR to a folder that this user can write to.' }
  }
  if (!(await isWritable(dataDir))) {
    return {
      state: 'fail',
      text: `${label} cannot be written to`,
      advice: 'Give this user write permission, or set DATA_DIR to another folder.',
    }
  }
  const url = await findService({ dataDir, databaseUrl })
  if (url !== undefined) return { state: 'ok', text: `${label}, in use by the service at ${url}` }
  if (databaseUrl !== undefined) return { state: 'ok', text: `${label} is writable` }
  if (isHeld(dataDir)) {
    const text = `${label} is in use, but nothing answers for it`
    return { state: 'warn', text, advice: 'A service may be starting or hanging; otherwise another process holds lock.db.' }
  }
  if (isOpenToOthers(dataDir)) {
    const advice = `The directory will hold keys and conversations: run chmod 700 ${dataDir}`
    return { state: 'warn', text: `${label} is open to other users of this machine`, advice }
  }
  return { state: 'ok', text: `${label} is writable, and no service uses it` }
}

export async function checkFilesRoot({ filesRoot }: Settings): Promise<Finding> {
  const label = `files: ${filesRoot}`
  const stats = await stat(filesRoot).catch(() => undefined)
  if (!stats) return { state: 'ok', text: `${label} is created by "agent-core serve --init"` }
  const isReadable = await access(filesRoot, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (stats.isDirectory() && isReadable) return { state: 'ok', text: `${label} is readable` }
  return { state: 'fail', text: `${label} is not a folder that this user can read`, advice: 'Set FILES_ROOT to a readable folder.' }
}

export async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}

async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function nearestFolder(file: string): Promise<string> {
  const parent = path.dirname(file)
  return parent === file || (await exists(parent)) ? parent : nearestFolder(parent)
}
