import { randomUUID } from 'node:crypto'
import { access, cp, mkdir, realpath, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findExposed, loadSettings, SettingsError, type Settings } from '../settings.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** What every command needs first, and what a first start makes. */

const samples = fileURLToPath(new URL('../../samples', import.meta.url))

export function readSettings({ environment, cwd }: Pick<Terminal, 'environment' | 'cwd'>): Readonly<Settings> {
  try {
    return loadSettings(environment, cwd)
  } catch (error) {
    if (error instanceof SettingsError) throw new CommandFailure(2, error.problems)
    throw error
  }
}

/**
 * Copies agent.yaml and sample files where there are none; answers with the paths that were made. With a database that processes share,
 * what it holds counts: a sample beside it would be an edit.
 */
export async function makeMissing({ agentConfig, filesRoot, dataDir, databaseUrl }: Settings): Promise<string[]> {
  const [realRoot, realData, realConfig] = await Promise.all([filesRoot, dataDir, agentConfig].map(toPlace))
  const exposed = findExposed({ filesRoot: realRoot!, dataDir: realData!, agentConfig: realConfig! })
  if (exposed.length > 0) throw new CommandFailure(2, exposed)
  const made: string[] = []
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl === undefined && !(await exists(agentConfig))) {
    await cp(`${samples}/agent.yaml`, agentConfig, { errorOnExist: true, force: false })
    made.push(agentConfig)
  }
  if (!(await exists(filesRoot)) && (await copySamples(filesRoot))) made.push(filesRoot)
  return made
}

/** Made whole under another name: processes that start together and share the folder do not disturb each other. False where another was first. */
async function copySamples(filesRoot: string): Promise<boolean> {
  const draft = `${filesRoot}.${randomUUID()}`
  try {
    await cp(`${samples}/files`, draft, { recursive: true })
    await rename(draft, filesRoot)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
    return false
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Where a path leads through symbolic links, as far as it is there. */
async function toPlace(file: string): Promise<string> {
  return realpath(file).catch(async () =>
    path.dirname(file) === file ? file : path.join(await toPlace(path.dirname(file)), path.basename(file)),
  )
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
