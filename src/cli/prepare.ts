import { randomUUID } from 'node:crypto'
import { access, cp, mkdir, realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../package-root.ts'
import { findExposed, loadSettings, SettingsError, type Settings } from '../settings/settings.ts'
import { CommandFailure, type Terminal } from './terminal.ts'

/** Settings and files that commands need, and the sample files of `serve --init`. */

const samples = path.join(packageRoot, 'samples')

export function readSettings({ environment, cwd }: Pick<Terminal, 'environment' | 'cwd'>): Readonly<Settings> {
  try {
    return loadSettings(environment, cwd)
  } catch (error) {
    if (error instanceof SettingsError) throw new CommandFailure(2, error.problems)
    throw error
  }
}

/**
 * Copies the sample agent.yaml and sample files if they are missing, and returns the created paths. With a shared database, agent.yaml is
 * not created: the database holds the configuration, and a new file would count as an edit.
 */
export async function createMissing(settings: Settings): Promise<string[]> {
  const { agentConfig, filesRoot, dataDir, databaseUrl } = settings
  await refuseExposed(settings)
  const createdPaths: string[] = []
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl === undefined && !(await exists(agentConfig))) {
    await cp(`${samples}/agent.yaml`, agentConfig, { errorOnExist: true, force: false })
    createdPaths.push(agentConfig)
  }
  if (!(await exists(filesRoot)) && (await copySamples(filesRoot))) createdPaths.push(filesRoot)
  return createdPaths
}

/**
 * Fails if a file or folder named in the environment is missing (a wrong name or a failed mount), or if there is no agent.yaml at all.
 * Creates the default folder for files, empty.
 */
export async function refuseMissing(settings: Settings, environment: Terminal['environment']): Promise<void> {
  const { agentConfig, filesRoot, dataDir, databaseUrl } = settings
  const problems = await findMissing(settings, environment)
  // A shared database may hold the configuration, which the start checks.
  if (problems.length === 0 && databaseUrl === undefined && !(await exists(agentConfig))) {
    problems.push(`${agentConfig} does not exist. Set AGENT_CONFIG to another file, or run "agent-core serve --init" to create a sample.`)
  }
  if (problems.length > 0) throw new CommandFailure(1, problems)
  await refuseExposed(settings)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await mkdir(filesRoot, { recursive: true })
}

/** Returns a line for each of AGENT_CONFIG and FILES_ROOT whose target does not exist or has the wrong kind. */
export async function findMissing({ agentConfig, filesRoot }: Settings, environment: Terminal['environment']): Promise<string[]> {
  const expectations = [
    { name: 'AGENT_CONFIG', target: agentConfig, kind: 'file', isDirectory: false },
    { name: 'FILES_ROOT', target: filesRoot, kind: 'folder', isDirectory: true },
  ]
  const problems = await Promise.all(
    expectations.map(async ({ name, target, kind, isDirectory }) => {
      if (!environment[name]) return []
      const stats = await stat(target).catch(() => undefined)
      if (stats === undefined)
        return [`${name} is "${target}", which does not exist. Correct the path, or run "agent-core serve --init" to create a sample.`]
      return stats.isDirectory() === isDirectory ? [] : [`${name} is "${target}", which is not a ${kind}.`]
    }),
  )
  return problems.flat()
}

async function refuseExposed({ agentConfig, filesRoot, dataDir }: Settings): Promise<void> {
  const [realRoot, realData, realConfig] = await Promise.all([filesRoot, dataDir, agentConfig].map(resolveLinks))
  const exposed = findExposed({ filesRoot: realRoot!, dataDir: realData!, agentConfig: realConfig! })
  if (exposed.length > 0) throw new CommandFailure(2, exposed)
}

/** Copies the samples under a temporary name, then renames the folder: processes starting together do not interfere. False if another process was first. */
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

/** Resolves the symbolic links of a path, as far as the path exists. */
async function resolveLinks(file: string): Promise<string> {
  return realpath(file).catch(async () =>
    path.dirname(file) === file ? file : path.join(await resolveLinks(path.dirname(file)), path.basename(file)),
  )
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
