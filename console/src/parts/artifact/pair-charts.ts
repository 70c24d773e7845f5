interface NamedFile {
  file_name: string
  file_type: string
}

/** Files with the PNG of each chart beside its SVG: charts come as both, and are shown once. */
export function pairCharts<T extends NamedFile>(files: readonly T[]): { file: T; png: T | undefined }[] {
  const pngs = new Map(files.filter(({ file_type: type }) => type === 'image/png').map((file) => [stemOf(file), file]))
  const pairs = files.map((file) => ({ file, png: file.file_type === 'image/svg+xml' ? pngs.get(stemOf(file)) : undefined }))
  const paired = new Set(pairs.map(({ png }) => png))
  return pairs.filter(({ file }) => !paired.has(file))
}

function stemOf({ file_name: name }: NamedFile): string {
  return name.replace(/\.(?:png|svg)$/i, '')
}
