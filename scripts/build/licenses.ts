import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

interface PackageFile {
  name: string
  version: string
  license?: string
}

/** The licences of the packages that the modules belong to, as one text. Modules outside of `node_modules` are skipped. */
export function collectLicenses(modules: readonly string[]): string {
  const folders = new Set(modules.map(packageFolderOf).filter((folder) => folder !== undefined))
  // A module that is a bundle itself has the licences of its parts beside it.
  const parts = new Set(modules.map((module) => `${module}.LICENSE.txt`).filter((file) => existsSync(file)))
  const title = 'This program contains code of these packages, under their licences.\n'
  const texts = [...[...folders].toSorted().map(describeLicense), ...[...parts].map((file) => readFileSync(file, 'utf8'))]
  return [title, ...texts].join(`\n${'-'.repeat(80)}\n\n`)
}

/** `/x/node_modules/@scope/name/lib/a.js` belongs to `/x/node_modules/@scope/name`. */
function packageFolderOf(module: string): string | undefined {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replaceAll(path.sep, '/'))?.[1]
}

function describeLicense(folder: string): string {
  const {
    name,
    version,
    license = 'no licence stated',
  } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as PackageFile
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim())
  return `${[`${name} ${version} (${license})`, ...texts].join('\n\n')}\n`
}
