import { moduleKey } from '../configuration/skills/pins.ts'
import { pinnedModules, type AgentFiles, type FilesConfig } from '../configuration/skills/skill.ts'
import { hashModule } from './module/module-hash.ts'
import { markSkillFolders, readSkillFolders } from './skills/skill-folders.ts'

/** Milliseconds between two looks at the files: not every file system reports changes, and people save in several steps. */
const defaultPollMs = 1000
/** A set is read again while its files change. */
const maxReads = 3

interface FileOptions {
  /** The folder of agent.yaml. */
  configDir: string
  pollMs?: number
}

/** The files of skills and modules on this machine. */
export function createAgentFiles({ configDir, pollMs = defaultPollMs }: FileOptions): AgentFiles {
  const hashModules = async (config: FilesConfig) =>
    Object.fromEntries(
      await Promise.all(pinnedModules(config).map(async ({ name, path }) => [moduleKey(name), await hashModule(configDir, path)] as const)),
    )
  /** Files of modules are few and small: their hashes are their mark. */
  const markNow = async (config: FilesConfig) =>
    JSON.stringify([await markSkillFolders(configDir, config.skills), await hashModules(config)])

  return {
    async read(config) {
      for (let reads = 1; ; reads++) {
        const mark = await markNow(config)
        const [set, modules] = await Promise.all([readSkillFolders(configDir, config.skills), hashModules(config)])
        if (reads === maxReads || (await markNow(config)) === mark) return { ...set, modules, mark }
      }
    },
    watch(config, mark, onChange) {
      let last = mark
      let isLooking = false
      const look = async () => {
        if (isLooking) return
        isLooking = true
        const now = await markNow(config).catch(() => last)
        if (now === last && now !== mark) onChange()
        last = now
        isLooking = false
      }
      const timer = setInterval(() => void look(), pollMs).unref()
      return { close: () => clearInterval(timer) }
    },
  }
}
