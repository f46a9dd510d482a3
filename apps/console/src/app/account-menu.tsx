import { Button, Menu, Text } from '@mantine/core'
import { IconChevronDown, IconLogout, IconUserCircle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { LanguageItems, ThemeItems } from '../session/preferences.tsx'
import { useCurrentSession } from '../session/session.ts'

/** Who is signed in, language, theme and sign-out. */
export function AccountMenu() {
  const { t } = useTranslation()
  const { session, signOut } = useCurrentSession()
  const operator = session.role === 'operator'
  const name = operator ? t('app.operator') : (session.name ?? session.app_id ?? '')
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <Button
          variant="default"
          px="xs"
          aria-label={t('app.account', { name })}
          leftSection={<IconUserCircle size={18} aria-hidden />}
          rightSection={<IconChevronDown size={14} aria-hidden />}
          className="account"
        >
          <Text component="span" size="sm" truncate maw={160} visibleFrom="sm">
            {name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text component="span" size="sm" c="var(--mantine-color-text)" display="block" truncate>
            {t('app.signedInAs', { name })}
          </Text>
          {t(operator ? 'app.roleOperator' : 'app.roleApplication')}
        </Menu.Label>
        <Menu.Divider />
        <Menu.Label>{t('app.language')}</Menu.Label>
        <LanguageItems />
        <Menu.Divider />
        <Menu.Label>{t('app.theme')}</Menu.Label>
        <ThemeItems />
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => signOut()}>
          {t('app.signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
