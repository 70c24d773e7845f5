import type { Theme } from 'vitepress'
import defaultTheme from 'vitepress/theme-without-fonts'
import './colours.css'
import './code.css'
import './home.css'

export default { extends: defaultTheme } satisfies Theme
