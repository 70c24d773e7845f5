import path from 'node:path'
import { build, type SiteConfig } from 'vitepress'

/**
 * Builds the site: `node scripts/build/documentation-process.ts TARGET TEMPORARY`. A process of its own, because VitePress changes `NODE_ENV`.
 * Builds that run at the same time must not share the folder of temporary files.
 */
const [target, temporary] = process.argv.slice(2).map((name) => path.resolve(name))

await build(path.join(import.meta.dirname, '../../docs'), {
  outDir: target!,
  onAfterConfigResolve: (site: SiteConfig) => void (site.tempDir = temporary!),
})
