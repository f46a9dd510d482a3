import { NativeSelect, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useLocation, useNavigate } from 'react-router'
import { pathIn, pathOfAll, placeOf, samePage } from '../session/application-path.ts'
import { useCurrentSession } from '../session/session.ts'

/** Selects the application that the pages show. A session of an application has no choice and shows only its name. */
export function ApplicationPicker() {
  const { t } = useTranslation()
  const { session, appId, applications, applicationName } = useCurrentSession()
  const place = placeOf(useLocation().pathname)
  const navigate = useNavigate()
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
      onChange={({ currentTarget: { value } }) => {
        const page = samePage(place)
        void navigate(value === '' ? pathOfAll(page) : pathIn(value, page))
      }}
      data={[
        { value: '', label: t('app.allApplications') },
        ...applications.map(({ app_id, name }) => ({ value: app_id, label: name })),
      ]}
    />
  )
}
