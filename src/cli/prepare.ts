import { randomUUID } from 'node:crypto'
import { access, cp, mkdir, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findExposed, loadSettings, SettingsError, type Settings } from '../settings/settings.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** What every command needs first, and what `serve --init` makes. */

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
export async function makeMissing(settings: Settings): Promise<string[]> {
  const { agentConfig, filesRoot, dataDir, databaseUrl } = settings
  await refuseExposed(settings)
  const made: string[] = []
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl === undefined && !(await exists(agentConfig))) {
    await cp(`${samples}/agent.yaml`, agentConfig, { errorOnExist: true, force: false })
    made.push(agentConfig)
  }
  if (!(await exists(filesRoot)) && (await copySamples(filesRoot))) made.push(filesRoot)
  return made
}

/**
 * Fails where a file or folder is missing that the environment names, which is a wrong name or a failed mount, and where there is no
 * agent.yaml at all. A default folder for files is made, empty.
 */
export async function refuseMissing(settings: Settings, environment: Terminal['environment']): Promise<void> {
  const { agentConfig, filesRoot, dataDir, databaseUrl } = settings
  const problems = await findMissing(settings, environment)
  // A shared database may hold the configuration: the start finds out.
  if (problems.length === 0 && databaseUrl === undefined && !(await exists(agentConfig))) {
    problems.push(
      `${agentConfig} does not exist. Name another file by AGENT_CONFIG, or run "agent-core serve --init", which makes a sample.`,
    )
  }
  if (problems.length > 0) throw new CommandFailure(1, problems)
  await refuseExposed(settings)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await mkdir(filesRoot, { recursive: true })
}

/** A line for each of AGENT_CONFIG and FILES_ROOT that names something that is not there, or of the wrong kind. */
export async function findMissing({ agentConfig, filesRoot }: Settings, environment: Terminal['environment']): Promise<string[]> {
  const places = [
    { name: 'AGENT_CONFIG', place: agentConfig, kind: 'file', isDirectory: false },
    { name: 'FILES_ROOT', place: filesRoot, kind: 'folder', isDirectory: true },
  ]
  const problems = await Promise.all(
    places.map(async ({ name, place, kind, isDirectory }) => {
      if (!environment[name]) return []
      const found = await stat(place).catch(() => undefined)
      if (found === undefined)
        return [`${name} is "${place}", which does not exist. Correct it, or "agent-core serve --init" makes a sample.`]
      return found.isDirectory() === isDirectory ? [] : [`${name} is "${place}", which is not a ${kind}.`]
    }),
  )
  return problems.flat()
}

async function refuseExposed({ agentConfig, filesRoot, dataDir }: Settings): Promise<void> {
  const [realRoot, realData, realConfig] = await Promise.all([filesRoot, dataDir, agentConfig].map(toPlace))
  const exposed = findExposed({ filesRoot: realRoot!, dataDir: realData!, agentConfig: realConfig! })
  if (exposed.length > 0) throw new CommandFailure(2, exposed)
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
