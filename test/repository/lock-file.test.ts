import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

interface LockedPackage {
  integrity?: string
  resolved?: string
  dev?: boolean
  optional?: boolean
}

/** Tools of development whose bindings for other platforms than linux-x64 the registry listed without checksums when they were locked. */
const unchecked = /^node_modules\/@(oxc-parser|oxfmt|oxlint|oxlint-tsgolint)\//

/** Links to folders of the repository. */
const isLink = ({ resolved }: LockedPackage) => resolved !== undefined && !resolved.startsWith('https:')

const peers = ['mastra', 'portkey', 'voltagent'].map((name) => `bench/peers/${name}/package-lock.json`)

for (const file of ['package-lock.json', 'examples/package-lock.json', ...peers]) {
  test(`${file}: each package is locked to its checksum, and to no registry but the public one`, async () => {
    const lock = JSON.parse(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8')) as {
      packages: Record<string, LockedPackage>
    }
    const packages = Object.entries(lock.packages).filter(([place, entry]) => place.includes('node_modules/') && !isLink(entry))
    assert.ok(packages.length > 50)
    for (const [place, { integrity, resolved, dev, optional }] of packages) {
      if (resolved !== undefined) assert.match(resolved, /^https:\/\/registry\.npmjs\.org\//, place)
      if (integrity === undefined && dev && optional && unchecked.test(place)) continue
      assert.match(integrity ?? 'no checksum', /^sha512-[A-Za-z0-9+/]{86}==$/, place)
    }
  })
}
