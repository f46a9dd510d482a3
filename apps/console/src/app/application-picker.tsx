import { NativeSelect, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useWho } from './session.ts'

/** Which application the pages show. Those who signed in with a secret have one; its name is shown. */
export function ApplicationPicker() {
  const { t } = useTranslation()
  const { session, appId, applications, applicationName, choose } = useWho()
  if (session.role !== 'operator')
    return (
      <Text className="grow" truncate title={applicationName}>
        {applicationName}
      </Text>
    )
  return (
    <NativeSelect
      className="grow picker"
      aria-label={t('app.application')}
      value={appId ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value || undefined)}
      data={[
        { value: '', label: t('app.allApplications') },
        ...applications.map(({ app_id, name }) => ({ value: app_id, label: name })),
      ]}
    />
  )
}
