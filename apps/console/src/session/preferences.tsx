import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import {
  IconCheck,
  IconDeviceDesktop,
  IconLanguage,
  IconLogout,
  IconMoon,
  IconSun,
} from '@tabler/icons-react'
import { use } from 'react'
import { useTranslation } from 'react-i18next'
import { chooseLanguage, languages } from '../i18n/languages.ts'
import { SessionContext } from './session.ts'

const schemes = [
  ['light', IconSun],
  ['dark', IconMoon],
  ['auto', IconDeviceDesktop],
] as const satisfies [MantineColorScheme, unknown][]

/** Menus of language and theme, and the sign-out button if somebody is signed in. */
export function Preferences() {
  const { t, i18n } = useTranslation()
  const current = use(SessionContext)
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const Scheme = schemes.find(([name]) => name === colorScheme)?.[1] ?? IconSun
  const check = <IconCheck size={16} aria-hidden />
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label={t('app.language')}>
            <IconLanguage size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {languages.map(({ code, name }) => (
            <Menu.Item
              key={code}
              lang={code}
              onClick={() => void chooseLanguage(code)}
              rightSection={i18n.language === code && check}
            >
              {name}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label={t('app.theme')}>
            <Scheme size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {schemes.map(([name, Icon]) => (
            <Menu.Item
              key={name}
              leftSection={<Icon size={16} aria-hidden />}
              onClick={() => setColorScheme(name)}
              rightSection={colorScheme === name && check}
            >
              {t(`app.${name}`)}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {current && (
        <ActionIcon
          variant="default"
          size="lg"
          aria-label={t('app.signOut')}
          title={t('app.signedInAs', {
            name: current.session.role === 'operator' ? t('app.operator') : current.applicationName,
          })}
          onClick={() => void current.signOut()}
        >
          <IconLogout size={18} aria-hidden />
        </ActionIcon>
      )}
    </>
  )
}
