import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core'

const accent: MantineColorsTuple = [
  '#eef1fd',
  '#dbe1fa',
  '#b9c4f5',
  '#9aaaf1',
  '#8194ee',
  '#566ee3',
  '#3f58d6',
  '#3449b8',
  '#2c3d97',
  '#25337a',
]
/** Mantine's red, darker where white text lies on it. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#e03131',
  '#c92a2a',
  '#b32424',
  '#9c1f1f',
  '#861a1a',
]
const gray: MantineColorsTuple = [
  '#f7f8fa',
  '#eff1f4',
  '#e4e7ec',
  '#d3d8e0',
  '#b3bac6',
  '#737c8c',
  '#5a6372',
  '#474f5e',
  '#323844',
  '#1d2129',
]
const dark: MantineColorsTuple = [
  '#e3e6ec',
  '#c0c5d0',
  '#9aa1b0',
  '#7d8494',
  '#3b404d',
  '#2d313b',
  '#22252d',
  '#191b21',
  '#131519',
  '#0d0e11',
]

/** A single accent colour, neutral greys with enough contrast for WCAG AA, and the system's fonts. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: 6,
  colors: { accent, red, gray, dark },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace',
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.375rem', lineHeight: '1.3' }, h2: { fontSize: '1.0625rem' } } },
  cursorType: 'pointer',
  respectReducedMotion: true,
  focusRing: 'auto',
})

/** Colours of surfaces and lines: `--surface` lies on `--mantine-color-body`, `--line` parts them. */
export const cssVariables: CSSVariablesResolver = (theme) => ({
  variables: {},
  light: {
    '--mantine-color-error': '#b3261e',
    '--mantine-color-text': theme.colors.gray[9],
    '--mantine-color-placeholder': theme.colors.gray[6],
    '--surface': theme.colors.gray[0],
    '--surface-strong': theme.colors.gray[1],
    '--line': theme.colors.gray[2],
    '--accent-soft': accent[0],
    '--accent-text': accent[7],
  },
  dark: {
    '--mantine-color-error': '#ff9d94',
    '--mantine-color-red-light-color': '#ff9d94',
    '--mantine-color-placeholder': theme.colors.dark[2],
    '--surface': theme.colors.dark[8],
    '--surface-strong': theme.colors.dark[6],
    '--line': theme.colors.dark[5],
    '--accent-soft': 'rgba(129, 148, 238, 0.14)',
    '--accent-text': accent[3],
  },
})
